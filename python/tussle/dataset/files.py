"""Atomic writing of a dataset's folder, and error messages for users."""

import json
import os
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from tussle.dataset.digest import digest, file_digest, table_digest
from tussle.dataset.places import explained_elsewhere, here, is_remote, scan_parquet, upload
from tussle.dataset.schema import FORMAT, OPTIONAL_TABLES, TABLES
from tussle.errors import TussleError

SCENARIO = "scenario.toml"
PROVENANCE = "provenance.json"
REPORT = "report.html"
"""The last file of a command that executes runs, beside the dataset."""

UNREADABLE = (OSError, pl.exceptions.PolarsError, pl.exceptions.PanicException)
"""Exceptions of polars for damaged files; some make it panic."""

# Fixed, so that equal tables are equal bytes regardless of polars' defaults.
_ROWS_A_GROUP = 250_000


@dataclass(frozen=True)
class Contents:
    """Contents of a dataset's folder."""

    scenario_toml: str
    provenance: Mapping[str, Any]
    """Facts from `tussle.provenance`; the digests are added when the tables have been written."""
    tables: Mapping[str, pl.LazyFrame | Sequence[pl.LazyFrame]]
    """Every table of `TABLES`, and the available `OPTIONAL_TABLES`, by name and as declared.

    In several parts if there are more than `RUNS_A_PART` runs; each part is a file.
    """
    recordings: Mapping[str, Path] = field(default_factory=dict)
    """The recordings that the scenario names, by the paths of their copies in the folder."""


def save(folder: Path, contents: Contents, staging: Path | None = None) -> None:
    """Write a dataset: the folder appears complete, or not at all.

    It is built in `staging`, a path on the same file system (default: a hidden sibling of `folder`), and
    uploaded from there if `folder` is remote: provenance.json last, since nothing is a dataset without it.
    Raises TussleError when the folder exists or cannot be written.
    """
    refuse_existing(folder)
    staging = staging or here(folder).with_name(f".{folder.name}.new")
    with explained(folder):
        shutil.rmtree(staging, ignore_errors=True)
        staging.mkdir(parents=True)
        try:
            _fill(staging, contents)
            refuse_existing(folder)
            _publish(staging, folder)
        except BaseException:
            shutil.rmtree(staging, ignore_errors=True)
            raise


def _publish(staging: Path, folder: Path) -> None:
    if is_remote(folder):
        upload(staging, folder, PROVENANCE)
        shutil.rmtree(staging)
    else:
        staging.rename(folder)
        flush(folder.parent)


def write_whole(path: Path, content: bytes) -> None:
    """Replace the file `path` atomically, even if the power fails; raises OSError."""
    if is_remote(path) or (path.exists() and not path.is_file()):
        path.write_bytes(content)  # a device or a pipe must not be replaced; remote files are written whole
        return
    staging = path.with_name(f".{path.name}.new")
    try:
        staging.write_bytes(content)
        # Before the rename: after a power cut a file system may have the name and not the content.
        flush(staging)
        staging.replace(path)
        flush(path.parent)
    finally:
        staging.unlink(missing_ok=True)


def refuse_existing(folder: Path) -> None:
    """Raise TussleError when the path exists already."""
    with explained_elsewhere(folder, "read"):
        exists = (folder / PROVENANCE).exists() if is_remote(folder) else os.path.lexists(folder)
    if exists:
        raise TussleError(f"{folder} exists already; give another output folder (-o), or remove it first")


@contextmanager
def explained(path: Path) -> Iterator[None]:
    """Convert failures to write under `path` to a TussleError."""
    try:
        with explained_elsewhere(path, "write"):
            yield
    except (OSError, pl.exceptions.PolarsError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        next_step = "make room there, or give another output folder (-o)"
        raise TussleError(f"cannot write {path}: {reason}; {next_step}") from error


def _fill(staging: Path, contents: Contents) -> None:
    (staging / SCENARIO).write_text(contents.scenario_toml, encoding="utf-8")
    results, files = {}, {}
    optional = {name: each for name, each in OPTIONAL_TABLES.items() if name in contents.tables}
    for name, table in (TABLES | optional).items():
        given = contents.tables[name]
        parts = [given] if isinstance(given, pl.LazyFrame) else given
        written = {file: staging / file for file in table.file_names(len(parts))}
        for path, part in zip(written.values(), parts, strict=True):
            if faults := table.faults(part.collect_schema()):
                raise TussleError(f"table {name} is not as declared: {'; '.join(faults)}")
            path.parent.mkdir(exist_ok=True)
            part.sink_parquet(path.absolute(), compression="zstd", row_group_size=_ROWS_A_GROUP)
        results[name] = table_digest(scan_parquet(list(written.values())))
        files |= {file: file_digest(path) for file, path in written.items()}
    digests = {"digest": digest(results), "results_sha256": results, "files_sha256": files}
    in_parts = len(files) > len(results)
    for file, source in contents.recordings.items():
        copy = staging / file
        copy.parent.mkdir(parents=True, exist_ok=True)
        shutil.copyfile(source, copy)
        files[file] = file_digest(copy)
    facts = {"format": FORMAT if in_parts else 1, **contents.provenance, **digests}
    (staging / PROVENANCE).write_text(json.dumps(facts, indent=2) + "\n", encoding="utf-8")
    for path in [*staging.rglob("*"), staging]:
        flush(path)


def make_folder(path: Path) -> None:
    """Make a folder and its parents, each of which is on the disk when this returns; raises OSError."""
    if path.is_dir():
        return
    make_folder(path.parent)
    path.mkdir(exist_ok=True)
    flush(path.parent)


def flush(path: Path) -> None:
    """Wait until a file, or the names in a folder, are on the disk; raises OSError."""
    if os.name == "nt" and path.is_dir():  # Windows opens no folders, and keeps their names itself
        return
    descriptor = os.open(path, os.O_RDONLY)
    try:
        os.fsync(descriptor)
    finally:
        os.close(descriptor)
