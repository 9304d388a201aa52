"""Patches of ours: edits that a build makes to its copy of a kernel's source."""

import hashlib
import tomllib
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.source import Source, SourceFile

_FOLDER = Path(__file__).parent / "recipe" / "patches"


@dataclass(frozen=True)
class Edit:
    """A text to replace in one file of the source."""

    file: str
    find: str
    replace: str
    times: int = 1
    """How often the file holds the text."""


@dataclass(frozen=True)
class Patch:
    """Edits that belong together: a source takes all of them or none."""

    name: str
    edits: tuple[Edit, ...]
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
    """A source whose files are given with the patches applied that fit it."""

    source: Source
    patches: Iterable[Patch]
    _done: set[Edit] = field(default_factory=set)

    @property
    def name(self) -> str:
        """What provenance calls the source."""
        return self.source.name

    @property
    def short_name(self) -> str:
        """What its kernel is called unless the user says otherwise."""
        return self.source.short_name

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the source without patches."""
        return self.source.digest()

    def files(self, tell: Callable[[float], None]) -> Iterator[SourceFile]:
        """Give every file, edited."""
        self._done.clear()
        edits = [edit for patch in self.patches for edit in patch.edits]
        for file in self.source.files(tell):
            of_file = [edit for edit in edits if edit.file == file.path]
            yield self._edited(file, of_file) if of_file else file

    def applied(self) -> list[Patch]:
        """Return the patches that were applied while `files` was read.

        Raises TussleError when a source took some edits of a patch and not the others.
        """
        for patch in self.patches:
            missing = [edit for edit in patch.edits if edit not in self._done]
            if 0 < len(missing) < len(patch.edits):
                edit = missing[0]
                raise TussleError(
                    f"{self.name} takes only a part of kernel/patches/{patch.name}.toml: its {edit.file} "
                    f"does not hold {edit.find.strip()!r} {edit.times} times; undo what was changed there"
                )
        return [patch for patch in self.patches if self._done.issuperset(patch.edits)]

    def _edited(self, file: SourceFile, edits: Iterable[Edit]) -> SourceFile:
        content = file.content
        for edit in edits:
            found = edit.find.encode()
            if content.count(found) == edit.times:
                content = content.replace(found, edit.replace.encode())
                self._done.add(edit)
        return replace(file, content=content)
