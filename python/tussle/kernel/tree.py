"""The single folder in which kernels are built: a copy of a source tree, and its compiled objects.

A source is copied by content: only changed files are written, so that `make` compiles only what depends on
them, regardless of the source's location and of the kernel built before. The source itself is only read.
"""

import json
import os
import re
import shutil
from collections.abc import Callable
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.source import Source, SourceFile

_NEEDED = ("Makefile", "Kconfig", "arch/um/Kconfig")
_SYMLINK = 0o120000
_UNFINISHED = ""
"""Digest of a file that is being written."""


class Tree:
    """A folder with sources and objects, and the digests of the sources beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests = folder.with_suffix(".json")

    @property
    def is_compiled(self) -> bool:
        """Whether a build was finished in the tree, so that the next one reuses most of its objects."""
        return (self.folder / "linux").exists()

    def update_to(self, source: Source, report: Callable[[float], None]) -> None:
        """Make the tree's sources those of `source`; raises TussleError when it is not a kernel's.

        `report` receives the completed fraction.
        """
        stored = self._opened()
        release = self._release()
        wanted: set[str] = set()
        try:
            for file in source.files(report):
                wanted.add(file.path)
                if stored.get(file.path) != file.digest:
                    stored[file.path] = _UNFINISHED
                    self._write(file)
                    stored[file.path] = file.digest
            for path in stored.keys() - wanted:
                (self.folder / path).unlink(missing_ok=True)
                del stored[path]
        finally:
            if release and release != self._release():
                self._remove_products(stored)
            self._digests.write_text(json.dumps(stored), "utf-8")
        if missing := [name for name in _NEEDED if name not in stored]:
            raise TussleError(f"{source.name} is not Linux's source: it has no {missing[0]}")

    def _opened(self) -> dict[str, str]:
        """Return the digests of the tree's sources. The file with them is missing while the sources change.

        An interrupted copy is thereby detected, and started anew.
        """
        try:
            before = json.loads(self._digests.read_text("utf-8"))
        except (OSError, ValueError):
            before = {}
            shutil.rmtree(self.folder, ignore_errors=True)
        self._digests.unlink(missing_ok=True)
        self.folder.mkdir(parents=True, exist_ok=True)
        return before

    def _write(self, file: SourceFile) -> None:
        path = self.folder / file.path
        path.parent.mkdir(parents=True, exist_ok=True)
        path.unlink(missing_ok=True)
        if file.mode == _SYMLINK:
            path.symlink_to(os.fsdecode(file.content))
        else:
            path.write_bytes(file.content)
            path.chmod(file.mode & 0o777)

    def _release(self) -> list[str]:
        """Return version and patch level, from the makefile; empty before there is one."""
        makefile = self.folder / "Makefile"
        text = makefile.read_text("utf-8", errors="replace") if makefile.exists() else ""
        return re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)$", text, re.MULTILINE)

    def _remove_products(self, sources: dict[str, str]) -> None:
        """Remove the objects of another release of Linux: generated headers may not be renewed."""
        for top, _, names in os.walk(self.folder):
            for name in names:
                path = Path(top, name)
                if str(path.relative_to(self.folder)) not in sources:
                    path.unlink()
