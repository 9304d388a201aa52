"""Finished runs of an unfinished sweep, kept so that a killed sweep goes on where it stopped.

They stand in `<folder>.partial`, one file for each piece that came back from a worker: a run, or short ones
that follow each other. Each is written under another name and then renamed: a file that has its name is
whole, whenever the sweep is killed.
"""

import io
import json
import re
import shutil
import zipfile
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import polars as pl
from filelock import FileLock, Timeout

from tussle.dataset.files import explained
from tussle.errors import TussleError

# Folders of a hundred thousand files are slow to list.
_RUNS_A_FOLDER = 1000
_IDENTITY = "sweep.json"
_LOCK = "lock"
_RUNS = "runs"
_PIECE_FILE = re.compile(r"([0-9]+)(?:-([0-9]+))?\.zip")


class Piece(NamedTuple):
    """Runs that follow each other, stored in one file."""

    runs: range
    path: Path

    def read(self, table: str) -> pl.DataFrame:
        """Return one table of the runs; raises TussleError when the file is damaged."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                return pl.read_ipc_stream(io.BytesIO(archive.read(table)))
        except (OSError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError) as error:
            raise _damaged(self.path, error) from error

    def names(self) -> set[str]:
        """Names of the tables of the runs; raises TussleError when the file is damaged."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                return set(archive.namelist())
        except (OSError, EOFError, zipfile.BadZipFile) as error:
            raise _damaged(self.path, error) from error


class Partial:
    """The finished runs of a sweep; made by `open_partial`."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self._runs = folder / _RUNS

    def finished(self) -> set[int]:
        """Indices of the runs that are stored."""
        return {run for piece in self.pieces() for run in piece.runs}

    def pieces(self) -> list[Piece]:
        """What is stored, in the order of runs."""
        found = ((_PIECE_FILE.fullmatch(path.name), path) for path in self._runs.glob("*/*.zip"))
        pieces = [
            Piece(range(int(match[1]), int(match[2] or match[1]) + 1), path) for match, path in found if match
        ]
        return sorted(pieces, key=lambda piece: piece.runs.start)

    def store(self, runs: range, packed: bytes) -> None:
        """Store what a worker returned for runs that follow each other."""
        path = self._path(runs)
        with explained(self.folder):
            path.parent.mkdir(parents=True, exist_ok=True)
            unfinished = path.with_suffix(".part")
            try:
                unfinished.write_bytes(packed)
                unfinished.replace(path)
            except BaseException:
                unfinished.unlink(missing_ok=True)
                raise

    def remove(self) -> None:
        """Forget the stored runs; what cannot be removed is left behind."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, runs: range) -> Path:
        last = f"-{runs[-1]:07}" if len(runs) > 1 else ""
        return self._runs / f"{runs[0] // _RUNS_A_FOLDER:04}" / f"{runs[0]:07}{last}.zip"


def _damaged(path: Path, error: Exception) -> TussleError:
    return TussleError(f"{path} is damaged ({error}); remove it and repeat the command")


@contextmanager
def open_partial(folder: Path, identity: Mapping[str, object]) -> Iterator[Partial]:
    """Open, or begin, the store beside the output `folder`, for this process alone.

    `identity` is all that decides the results. Raises TussleError when the store cannot be written, is in
    use, or belongs to a sweep of another identity.
    """
    path = folder.with_name(f"{folder.name}.partial")
    with explained(path):
        path.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(path / _LOCK).acquire(timeout=0)
        except Timeout as error:
            raise TussleError(
                f"another process is working on {path}; wait for it, or give another output folder (-o)"
            ) from error
    with lock:
        partial = Partial(path)
        _identify(partial, identity)
        try:
            yield partial
        finally:
            if not partial.finished():
                partial.remove()


def _identify(partial: Partial, identity: Mapping[str, object]) -> None:
    path = partial.folder
    file = path / _IDENTITY
    text = json.dumps(identity, indent=2, sort_keys=True) + "\n"
    with explained(path):
        if file.exists() and file.read_text(encoding="utf-8") == text:
            return
        if file.exists() and partial.finished():
            differs = _differences(file, identity)
            raise TussleError(
                f"{path} holds finished runs of another sweep ({differs} differs); repeat that sweep to "
                "finish it, or give another output folder (-o), or remove that one"
            )
        unfinished = file.with_name(f"{_IDENTITY}.part")
        others = {other.name for other in path.iterdir()} - {_LOCK, _IDENTITY, _RUNS, unfinished.name}
        if others:
            raise TussleError(
                f"{path} is not the store of a sweep (it holds {min(others)}); remove it, or give another "
                "output folder (-o)"
            )
        unfinished.write_text(text, encoding="utf-8")
        unfinished.replace(file)


def _differences(file: Path, identity: Mapping[str, object]) -> str:
    """Names of what differs between the identity in `file` and the other one."""
    try:
        stored = json.loads(file.read_text(encoding="utf-8"))
    except ValueError:
        return file.name
    if not isinstance(stored, dict):
        return file.name
    return ", ".join(sorted(k for k in {*stored, *identity} if stored.get(k) != identity.get(k)))
