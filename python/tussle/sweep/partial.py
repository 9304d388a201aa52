"""Finished runs of an unfinished sweep, kept so that it can resume.

They are in `<folder>.partial`, one file for each piece returned by a worker: a run, or several short ones in
sequence. Each file is written under another name, flushed to the disk and then renamed, so that a file with
its final name is complete, even after a power cut. A file ends in its digest; a file that was damaged since
is removed when the sweep resumes, and its runs are executed again.
"""

import hashlib
import io
import json
import re
import shutil
import tomllib
import zipfile
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from filelock import FileLock, Timeout

from tussle.dataset.files import explained, make_folder, write_whole
from tussle.errors import TussleError

# Folders of a hundred thousand files are slow to list.
_RUNS_A_FOLDER = 1000
_IDENTITY = "sweep.json"
SCENARIO_OF_IDENTITY = "scenario"
"""Key of an identity for the scenario, as TOML."""
_LOCK = "lock"
_RUNS = "runs"
_DIGEST_BYTES = 64
"""Length of the SHA-256, in hexadecimal, of the preceding bytes of a piece's file: the comment of a ZIP file.
"""
_PIECE_FILE = re.compile(r"([0-9]+)(?:-([0-9]+))?\.zip")


class Piece(NamedTuple):
    """Consecutive runs, stored in one file."""

    runs: range
    path: Path

    def read(self, table: str) -> pl.DataFrame:
        """Return one table of the runs; raises TussleError when the file is damaged."""
        try:
            with zipfile.ZipFile(self.path) as archive:
                return pl.read_ipc_stream(io.BytesIO(archive.read(table)))
        except (OSError, EOFError, zipfile.BadZipFile, pl.exceptions.PolarsError) as error:
            raise _damaged(self.path, error) from error

    def is_whole(self) -> bool:
        """Tell whether the file is undamaged."""
        try:
            content = self.path.read_bytes()
        except OSError:
            return False
        return content[-_DIGEST_BYTES:] == _digest(content[:-_DIGEST_BYTES])

    def names(self) -> set[str]:
        """Return the names of the tables of the runs; raises TussleError when the file is damaged."""
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
        self.discarded = 0
        """Number of runs that were removed because their files were damaged."""

    def finished(self) -> set[int]:
        """Return the indices of the stored runs."""
        return {run for piece in self.pieces() for run in piece.runs}

    def pieces(self) -> list[Piece]:
        """Return the stored pieces, in the order of runs."""
        found = ((_PIECE_FILE.fullmatch(path.name), path) for path in self._runs.glob("*/*.zip"))
        pieces = [
            Piece(range(int(match[1]), int(match[2] or match[1]) + 1), path) for match, path in found if match
        ]
        return sorted(pieces, key=lambda piece: piece.runs.start)

    def store(self, runs: range, packed: bytes) -> None:
        """Store the bytes that a worker returned for consecutive runs."""
        path = self._path(runs)
        with explained(self.folder):
            make_folder(path.parent)
            write_whole(path, _sealed(packed))

    def discard_damaged(self) -> None:
        """Remove the damaged files."""
        self._discard([piece for piece in self.pieces() if not piece.is_whole()])

    def discard_all(self) -> None:
        """Remove all stored runs."""
        self._discard(self.pieces())

    def _discard(self, pieces: Iterable[Piece]) -> None:
        for piece in pieces:
            piece.path.unlink()
            self.discarded += len(piece.runs)

    def remove(self) -> None:
        """Remove the store; files that cannot be removed are left behind."""
        shutil.rmtree(self.folder, ignore_errors=True)

    def _path(self, runs: range) -> Path:
        last = f"-{runs[-1]:07}" if len(runs) > 1 else ""
        return self._runs / f"{runs[0] // _RUNS_A_FOLDER:04}" / f"{runs[0]:07}{last}.zip"


def _sealed(packed: bytes) -> bytes:
    """Return a ZIP file without a comment, with its digest as the comment."""
    # The last two bytes are the length of the comment (APPNOTE.TXT, section 4.3.16).
    body = packed[:-2] + _DIGEST_BYTES.to_bytes(2, "little")
    return body + _digest(body)


def _digest(content: bytes) -> bytes:
    return hashlib.sha256(content).hexdigest().encode()


def _damaged(path: Path, error: Exception) -> TussleError:
    return TussleError(f"{path} is damaged ({error}); remove it and repeat the command")


@contextmanager
def open_partial(folder: Path, identity: Mapping[str, object]) -> Iterator[Partial]:
    """Open or create the store beside the output `folder`, for this process alone.

    `identity` contains everything that decides the results. Raises TussleError when the store cannot be
    written, is in use, or belongs to a sweep with another identity.
    """
    path = _store(folder)
    with explained(path):
        make_folder(path)
        try:
            lock = FileLock(path / _LOCK).acquire(timeout=0)
        except Timeout as error:
            raise TussleError(
                f"another process is working on {path}; wait for it, or give another output folder (-o)"
            ) from error
    with lock:
        partial = Partial(path)
        _identify(partial, identity)
        with explained(path):
            partial.discard_damaged()
        try:
            yield partial
        finally:
            if not partial.finished():
                partial.remove()


def finished_runs(folder: Path) -> set[int]:
    """Return the indices of the runs that an interrupted sweep into `folder` has finished."""
    return Partial(_store(folder)).finished()


def remove_left_behind(folder: Path) -> None:
    """Remove the store of a sweep that was killed after it had published the dataset `folder`."""
    path = _store(folder)
    if not path.is_dir() or _foreign(path):
        return
    # Another process may be about to remove it.
    with suppress(Timeout), FileLock(path / _LOCK).acquire(timeout=0):
        Partial(path).remove()


def _store(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.partial")


def _foreign(path: Path) -> set[str]:
    """Return the names in a folder that are not those of a store, even of one that is removed in part."""
    return {other.name for other in path.iterdir()} - {_LOCK, _IDENTITY, _RUNS, f".{_IDENTITY}.new"}


def _identify(partial: Partial, identity: Mapping[str, object]) -> None:
    """Write the identity of the stored runs; raises TussleError when they belong to another sweep."""
    path = partial.folder
    file = path / _IDENTITY
    text = json.dumps(identity, indent=2, sort_keys=True) + "\n"
    with explained(path):
        stored = _stored(file)
        if stored == json.loads(text):
            return
        if stored is not None and partial.finished():
            differs = ", ".join(_differences(stored, json.loads(text)))
            raise TussleError(
                f"{path} holds finished runs of another sweep ({differs} differs); repeat that sweep to "
                "finish it, give another output folder (-o), or remove this folder"
            )
        if others := _foreign(path):
            raise TussleError(
                f"{path} is not the store of a sweep (it holds {min(others)}); remove it, or give another "
                "output folder (-o)"
            )
        if partial.finished():
            # Without an identity, the stored runs are of no use.
            partial.discard_all()
        write_whole(file, text.encode())


def _stored(file: Path) -> dict[str, Any] | None:
    """Return the identity in `file`; `None` when there is none, or it is damaged."""
    try:
        stored = json.loads(file.read_bytes())
    except (FileNotFoundError, ValueError, RecursionError):
        return None
    return stored if isinstance(stored, dict) else None


def _differences(stored: Mapping[str, Any], identity: Mapping[str, Any]) -> Iterator[str]:
    """Yield the names of differences; for scenarios, the keys."""
    for name in sorted({*stored, *identity}):
        one, other = stored.get(name), identity.get(name)
        if one == other:
            continue
        keys = _differing_keys(one, other) if name == SCENARIO_OF_IDENTITY else []
        yield f"{name}: {', '.join(keys)}" if keys else name


def _differing_keys(one: object, other: object) -> list[str]:
    """Return the keys, such as `path.rate`, in which two scenarios as TOML differ; none if one is invalid."""
    try:
        flat = [dict(_flat(tomllib.loads(str(text)), "")) for text in (one, other)]
    except (ValueError, RecursionError):
        return []
    return [key for key in {**flat[0], **flat[1]} if flat[0].get(key) != flat[1].get(key)]


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield each value with its key."""
    if isinstance(value, dict):
        for inner, each in value.items():
            yield from _flat(each, f"{key}.{inner}" if key else inner)
    elif isinstance(value, list) and value and isinstance(value[0], dict):
        for index, each in enumerate(value):
            yield from _flat(each, f"{key}.{index}")
    else:
        yield key, value
