"""Tussle's patches: edits of the build's copy of a kernel's source."""

import hashlib
import tomllib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.source import Source, SourceFile

_FOLDER = Path(__file__).parent / "recipe" / "patches"


@dataclass(frozen=True)
class Edit:
    """A replacement of text in one file of the source."""

    file: str
    find: str
    replace: str
    times: int = 1
    """Number of occurrences of the text in the file."""


@dataclass(frozen=True)
class Patch:
    """Edits that belong together: a source takes all of them or none."""

    name: str
    edits: tuple[Edit, ...]
    """A source with the text of the first edit must have the texts of the others."""
    digest: str
    """SHA-256, in hexadecimal, of the patch's file."""


def patches() -> list[Patch]:
    """Return the patches in kernel/patches, sorted by name."""
    return [_read(file) for file in sorted(_FOLDER.glob("*.toml"))]


def _read(file: Path) -> Patch:
    content = file.read_bytes()
    edits = tuple(Edit(**edit) for edit in tomllib.loads(content.decode("utf-8"))["edit"])
    return Patch(file.stem, edits, hashlib.sha256(content).hexdigest())


@dataclass
class PatchedSource:
    """A source with the applicable patches applied to its files, and with files of ours."""

    source: Source
    patches: Sequence[Patch]
    added: Sequence[SourceFile] = ()
    """Files that the source does not have."""
    applied: list[Patch] = field(default_factory=list)
    """The patches that were applied, once `files` was read to its end."""

    @property
    def name(self) -> str:
        """Name of the source in provenance."""
        return self.source.name

    @property
    def short_name(self) -> str:
        """Default name of its kernel."""
        return self.source.short_name

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the source without patches and added files."""
        return self.source.digest()

    def files(self, report: Callable[[float], None]) -> Iterator[SourceFile]:
        """Yield every file, those named by patches and the added ones last.

        Raises TussleError when a source has the text of the first edit of a patch, but not of all others.
        """
        named = {edit.file for patch in self.patches for edit in patch.edits}
        held: dict[str, SourceFile] = {}
        for file in self.source.files(report):
            if file.path in named:
                held[file.path] = file
            else:
                yield file
        self.applied = [patch for patch in self.patches if self._fits(patch, held)]
        for patch in self.applied:
            for edit in patch.edits:
                file = held[edit.file]
                content = file.content.replace(edit.find.encode(), edit.replace.encode())
                held[edit.file] = replace(file, content=content)
        yield from held.values()
        yield from self.added

    def _fits(self, patch: Patch, files: Mapping[str, SourceFile]) -> bool:
        def holds(edit: Edit) -> bool:
            file = files.get(edit.file)
            return file is not None and file.content.count(edit.find.encode()) == edit.times

        missing = [edit for edit in patch.edits if not holds(edit)]
        if missing and missing[0] != patch.edits[0]:
            edit = missing[0]
            raise TussleError(
                f"only a part of kernel/patches/{patch.name}.toml fits {self.name}: its {edit.file} does "
                f"not have {edit.find.strip()!r} {edit.times} times; undo the changes there"
            )
        return not missing
