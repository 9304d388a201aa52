"""Locations of datasets: local folders, and remote addresses such as s3://bucket/folder."""

import os
import re
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import NoneType
from typing import Any, cast
from urllib.parse import unquote

import polars as pl
from polars.io.plugins import register_io_source

from tussle.errors import TussleError, expect

_ADDRESS = re.compile(r"(?P<protocol>[A-Za-z][A-Za-z0-9+.-]*)://(?P<rest>.*)", re.DOTALL)
_READ_BY_POLARS = {"s3", "s3a", "gs", "gcs", "az", "abfs", "abfss", "adl", "http", "https"}
"""Kinds of addresses for which polars reads only the requested parts of a file."""
_LOCAL_STORES = Path("results")
_NO_LIBRARY = (
    "{written}: remote datasets need a library for that kind of address ({error}); "
    "pip install universal-pathlib, and s3fs, gcsfs or adlfs for S3, Google or Azure"
)


def place(written: str | os.PathLike[str]) -> Path:
    """Return a local path, or an object with a path's methods for a remote address (fsspec).

    Raises TussleError when no library for that kind of address is installed.
    """
    address = _ADDRESS.fullmatch(str(written)) if isinstance(written, str) else None
    if not address:
        return cast("Path", written) if is_remote(written) else Path(written)
    if address["protocol"] == "file":
        return Path(unquote(address["rest"]))
    try:
        from upath import UPath

        elsewhere: Any = UPath(written)
        elsewhere.fs  # noqa: B018 (only then its library is looked for)
    except (ImportError, ValueError) as error:
        raise TussleError(_NO_LIBRARY.format(written=written, error=error)) from error
    return elsewhere


def is_remote(folder: object) -> bool:
    """Tell whether a folder is remote."""
    return bool(getattr(folder, "protocol", ""))


def expect_place(name: str, written: object, words: str) -> None:
    """Raise TussleError when an argument is no path, and no remote one; None stands for a default."""
    if not is_remote(written):
        expect(name, written, (str, os.PathLike, NoneType), words)


def here(folder: Path) -> Path:
    """Return a local path for files kept beside a folder: the folder itself, or one in `results`."""
    if not is_remote(folder):
        return folder
    return _LOCAL_STORES / re.sub(r"[^A-Za-z0-9._-]+", "-", str(folder)).strip("-")


def scan_parquet(files: Sequence[Path]) -> pl.LazyFrame:
    """Read the Parquet files of a table lazily, local or remote.

    Names are literal, whatever characters they contain.
    """
    protocol = getattr(files[0], "protocol", "")
    if protocol and protocol not in _READ_BY_POLARS:
        return _scan_files(files)
    sources = [str(file if protocol else file.absolute()) for file in files]
    return pl.scan_parquet(sources, glob=False, hive_partitioning=False)


def _scan_files(files: Sequence[Path]) -> pl.LazyFrame:
    """Read files that polars cannot reach: one whole file at a time, when its rows are needed."""

    def batches(*asked_for: Any) -> Iterator[pl.DataFrame]:
        columns, rows, most, _at_a_time = asked_for
        for file in files:
            with file.open("rb") as opened:
                frame = pl.read_parquet(opened, columns=columns, n_rows=most)
            yield frame if rows is None else frame.filter(rows)
            most = most and most - frame.height
            if most == 0:
                return

    with files[0].open("rb") as opened:
        schema = pl.read_parquet_schema(opened)
    return register_io_source(batches, schema=schema)


def upload(local: Path, folder: Path, last: str) -> None:
    """Upload the files of a local folder, the one named `last` after all others."""
    remote: Any = folder
    files = sorted(path for path in local.rglob("*") if path.is_file())
    for file in sorted(files, key=lambda file: file.name == last):
        target = remote.joinpath(*file.relative_to(local).parts)
        remote.fs.put_file(str(file), target.path)


@contextmanager
def explained_elsewhere(folder: Path, what: str) -> Iterator[None]:
    """Turn any error of a remote library into a TussleError; `what` could not be done."""
    try:
        yield
    except TussleError:
        raise
    except Exception as error:
        if not is_remote(folder):
            raise
        reason = f"{type(error).__name__}: {error}".partition("\n")[0]
        raise TussleError(
            f"cannot {what} {folder} ({reason}); check its name and your permissions"
        ) from error
