"""The one folder that kernels are built in: a copy of a source tree, and the objects compiled from it.

A source is copied into it by content: only files that differ are written, so `make` compiles only what
depends on them, wherever the source lies and whichever kernel was built before.
The source itself is only read.
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
"""The digest of a file that is being written."""


class Tree:
    """A folder with sources and objects, and the digests of the sources beside it."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._digests = folder.with_suffix(".json")

    @property
    def is_compiled(self) -> bool:
        """Whether a build was finished in it: the next one finds most of its objects there."""
        return (self.folder / "linux").exists()

    def become(self, source: Source, tell: Callable[[float], None]) -> None:
        """Make the sources those of `source`; raises TussleError when it is not a kernel's.

        `tell` is told the fraction that is done.
        """
        stored = self._opened()
        release = self._release()
        wanted: set[str] = set()
        try:
            for file in source.files(tell):
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
        """Digests of the sources that stand here. While they change there is no file that tells them.

        So a copy that was killed is known, and begun anew.
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
        """Version and patch level, from the makefile; empty before there is one."""
        makefile = self.folder / "Makefile"
        text = makefile.read_text("utf-8", errors="replace") if makefile.exists() else ""
        return re.findall(r"^(?:VERSION|PATCHLEVEL) = (\d+)$", text, re.MULTILINE)

    def _remove_products(self, sources: dict[str, str]) -> None:
        """Remove what was compiled from a Linux of another release: generated headers may not be renewed."""
        for top, _, names in os.walk(self.folder):
            for name in names:
                path = Path(top, name)
                if str(path.relative_to(self.folder)) not in sources:
                    path.unlink()
