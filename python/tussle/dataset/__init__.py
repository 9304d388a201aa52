"""Results as tables: a folder that every engine writes and that metrics, figures and reports read."""

from __future__ import annotations

import atexit
import json
import os
import shutil
import tempfile
from dataclasses import dataclass
from itertools import chain
from pathlib import Path
from typing import TYPE_CHECKING, Any, Self

import polars as pl

from tussle.dataset.checks import gaps, not_counted, not_their_runs
from tussle.dataset.digest import digest, file_digest
from tussle.dataset.files import PROVENANCE, SCENARIO, UNREADABLE, Contents, save
from tussle.dataset.flow_rows import flows_frame
from tussle.dataset.places import explained_elsewhere, is_remote, place, scan_parquet
from tussle.dataset.schema import (
    ENGINE_TABLES,
    FORMAT,
    KERNEL_AXIS,
    OPTIONAL_TABLES,
    RUNS_A_PART,
    TABLES,
    Column,
    MoreColumns,
    Table,
    parts_of,
)
from tussle.displays import html_of
from tussle.errors import TussleError, expect, plural, printable, shown

if TYPE_CHECKING:
    # Workers write tables without scenarios, whose import takes longer than many runs.
    from tussle.scenario import Scenario

__all__ = [
    "ENGINE_TABLES",
    "FORMAT",
    "KERNEL_AXIS",
    "OPTIONAL_TABLES",
    "RUNS_A_PART",
    "TABLES",
    "BaselineRuns",
    "Column",
    "Contents",
    "Dataset",
    "MoreColumns",
    "Table",
    "flows_frame",
    "parts_of",
    "save",
    "verify",
]


_FACTS = {
    "tussle": str,
    "command": str,
    "digest": str,
    "engine": dict,
    "scenario_sha256": str,
    "results_sha256": dict,
    "files_sha256": dict,
}
"""Required facts of a provenance, and their types."""
_FACTS_OF_SOME = {"own_algorithms_sha256": dict}
"""Optional facts of a provenance, and their types."""
_TEXTS_BY_NAME = ("results_sha256", "files_sha256")


@dataclass(frozen=True)
class BaselineRuns:
    """The tables of the runs in which a flow is alone; `runs` has the column `baseline`, the flow's name."""

    runs: pl.LazyFrame
    flows: pl.LazyFrame
    samples: pl.LazyFrame
    links: pl.LazyFrame
    events: pl.LazyFrame
    validity: pl.LazyFrame | None = None


@dataclass(frozen=True, eq=False)
class Dataset:
    """The results of a scenario, read from their folder; tables are lazy.

    Baseline runs, if the scenario has any, are separate: metrics of a point are about its flows together.
    """

    folder: Path
    scenario: Scenario
    provenance: dict[str, Any]
    runs: pl.LazyFrame
    flows: pl.LazyFrame
    samples: pl.LazyFrame
    links: pl.LazyFrame
    events: pl.LazyFrame
    validity: pl.LazyFrame | None = None
    baseline: BaselineRuns | None = None

    @classmethod
    def open(cls, folder: str | os.PathLike[str]) -> Self:
        """Open a dataset's folder: a local one, or an address such as `s3://bucket/folder`.

        Raises TussleError when it is missing, truncated, or from a newer version of Tussle.
        """
        folder = place(folder)
        with explained_elsewhere(folder, "read"):
            provenance = _provenance(folder)
            scenario = _scenario(folder, provenance)
            tables = {
                name: _table(_files(folder, table, provenance), table)
                for name, table in _present_tables(provenance).items()
            }
            _check_rows(folder, tables)
            together, baseline = _apart(folder, tables)
        return cls(folder=folder, scenario=scenario, provenance=provenance, baseline=baseline, **together)

    def __repr__(self) -> str:
        counts = self.runs.select(pl.len().alias("runs"), pl.col("point").n_unique().alias("points"))
        runs, points = counts.collect().row(0)
        engine = self.provenance["engine"]["name"]
        folder = printable(str(self.folder)).replace("\n", "\\n")
        return f"<Dataset {folder}: {plural(runs, 'run')} of {plural(points, 'point')} by {engine}>"

    def _repr_html_(self) -> str:
        return html_of(self)

    def table(self, name: str) -> pl.LazyFrame:
        """Return a table by its name, one of `TABLES` or `OPTIONAL_TABLES`.

        Raises TussleError when this dataset has no such table.
        """
        table = {
            "runs": self.runs,
            "flows": self.flows,
            "samples": self.samples,
            "links": self.links,
            "events": self.events,
            "validity": self.validity,
        }[name]
        if table is None:
            engine = self.provenance["engine"]["name"]
            raise TussleError(f"{self.folder} has no table {name}: the engine {engine} does not write it")
        return table

    def verify(self) -> None:
        """Check the bytes of every file of the dataset; raises TussleError when one has changed."""
        verify(self.folder)


def verify(folder: str | os.PathLike[str]) -> None:
    """Check the bytes of a dataset's scenario and tables; raises TussleError when a file has changed.

    Files are not parsed: some damaged files of Parquet make a reader end the process.
    """
    if not is_remote(folder):
        expect("folder", folder, (str, os.PathLike), "a folder")
    folder = place(folder)
    with explained_elsewhere(folder, "read"):
        provenance = _provenance(folder)
        written = {SCENARIO: provenance["scenario_sha256"], **provenance["files_sha256"]}
        tables = _present_tables(provenance).values()
        files = [_present(folder / SCENARIO), *_recordings(folder, provenance)]
        files += [file for table in tables for file in _files(folder, table, provenance)]
        for path in files:
            if file_digest(path) != written.get(path.relative_to(folder).as_posix()):
                raise TussleError(
                    f"{path} was changed (its digest is not the one in {PROVENANCE}); repeat the dataset "
                    f"with: {provenance['command']}"
                )


def _provenance(folder: Path) -> dict[str, Any]:
    if not folder.is_dir():
        what = "is not a folder" if folder.exists() else "does not exist"
        raise TussleError(f"{folder} {what}; give the folder that `tussle run` or `tussle matrix` wrote")
    path = _present(folder / PROVENANCE)
    try:
        facts = json.loads(path.read_text(encoding="utf-8"))
    except OSError as error:
        raise TussleError(
            f"{path} cannot be read ({error.strerror}); check its permissions and the disk"
        ) from error
    except (ValueError, RecursionError) as error:
        raise _damaged(path, error) from error
    version = facts.get("format") if isinstance(facts, dict) else None
    if type(version) is not int or version < 1:
        raise _damaged(path, f"its format is {shown(version)}, it must be a whole number from 1")
    if version > FORMAT:
        raise TussleError(
            f"{folder} was written by a newer Tussle ({facts.get('tussle')}: dataset format {version}; "
            f"this one reads up to {FORMAT}); update Tussle to read it"
        )
    for key, kind in (_FACTS | {key: _FACTS_OF_SOME[key] for key in _FACTS_OF_SOME if key in facts}).items():
        if not isinstance(facts.get(key), kind):
            raise _damaged(path, f"{key} is missing, or of the wrong type")
    if not isinstance(facts["engine"].get("name"), str):
        raise _damaged(path, "the engine has no name")
    if not all(isinstance(value, str) for key in _TEXTS_BY_NAME for value in facts[key].values()):
        raise _damaged(path, f"{' or '.join(_TEXTS_BY_NAME)} has a value that is not text")
    if facts["digest"] != digest(facts["results_sha256"]):
        raise _damaged(path, "the digest is not that of results_sha256")
    return facts


def _present_tables(provenance: dict[str, Any]) -> dict[str, Table]:
    """Return the tables that were written."""
    optional = {name: each for name, each in OPTIONAL_TABLES.items() if name in provenance["results_sha256"]}
    return TABLES | optional


def _recordings(folder: Path, provenance: dict[str, Any]) -> list[Path]:
    """Return the copies of recordings in a dataset; raises TussleError when one is missing."""
    from tussle.scenario import RECORDINGS

    names = [name.split("/") for name in provenance["files_sha256"] if name.startswith(f"{RECORDINGS}/")]
    if outside := [name for name in names if ".." in name]:
        raise _damaged(folder / PROVENANCE, f"{shown('/'.join(outside[0]))} is not a file of the dataset")
    files = [folder.joinpath(*name) for name in names]
    for file in files:
        if not file.is_file():
            raise _incomplete(folder, file.relative_to(folder).as_posix())
    return files


def _scenario(folder: Path, provenance: dict[str, Any]) -> Scenario:
    from tussle.scenario import Scenario

    files = [_present(folder / SCENARIO), *_recordings(folder, provenance)]
    if not is_remote(folder):
        return Scenario.load(files[0])
    # Until Python ends: whoever resolves a run of the scenario reads its recordings.
    downloaded = Path(tempfile.mkdtemp(prefix="tussle-"))
    atexit.register(shutil.rmtree, downloaded, ignore_errors=True)
    for file in files:
        copy = downloaded.joinpath(*file.relative_to(folder).parts)
        copy.parent.mkdir(parents=True, exist_ok=True)
        copy.write_bytes(file.read_bytes())
    return Scenario.load(downloaded / SCENARIO)


def _files(folder: Path, table: Table, provenance: dict[str, Any]) -> list[Path]:
    """Return the table's file, or those of its parts; raises TussleError when one is missing."""
    parts = sum(name.startswith(f"{table.name}/") for name in provenance["files_sha256"])
    if not parts:
        return [_present(folder / table.file_name)]
    files = [folder / name for name in table.file_names(parts)]
    # For a remote folder, one listing replaces many look-ups.
    listed = {path.name for path in files[0].parent.iterdir()} if files[0].parent.is_dir() else set()
    for file in files:
        if file.name not in listed:
            raise _incomplete(folder, file.relative_to(folder).as_posix())
    return files


def _table(files: list[Path], table: Table) -> pl.LazyFrame:
    try:
        frame = scan_parquet(files)
        schema = frame.collect_schema()
    except UNREADABLE as error:
        raise _damaged(files[0], error) from error
    if faults := table.faults(schema):
        raise _damaged(files[0], "; ".join(faults))
    return frame


def _check_rows(folder: Path, tables: dict[str, pl.LazyFrame]) -> None:
    """Raise TussleError when rows cannot be those of a sweep, even if their columns are valid."""
    checks = {name: gaps(frame, (TABLES | OPTIONAL_TABLES)[name]) for name, frame in tables.items()}
    checks["runs"] = chain(checks["runs"], not_counted(tables["runs"]))
    checks["flows"] = chain(checks["flows"], not_their_runs(tables))
    for name, faults in checks.items():
        path = folder / (TABLES | OPTIONAL_TABLES)[name].file_name
        try:
            if fault := next(faults, None):
                raise _damaged(path, fault)
        except UNREADABLE as error:
            raise _damaged(path, error) from error


def _apart(
    folder: Path, tables: dict[str, pl.LazyFrame]
) -> tuple[dict[str, pl.LazyFrame], BaselineRuns | None]:
    """Separate the runs of all flows together from the baseline runs, which follow them."""
    from tussle.scenario import BASELINE

    runs = tables["runs"]
    if BASELINE not in runs.collect_schema():
        return tables, None
    try:
        first = runs.filter(pl.col(BASELINE).is_not_null()).select(pl.col("run").min()).collect().item()
    except UNREADABLE as error:
        raise _damaged(folder / TABLES["runs"].file_name, error) from error
    together = {name: table.filter(pl.col("run") < first) for name, table in tables.items()}
    alone = {name: table.filter(pl.col("run") >= first) for name, table in tables.items()}
    return {**together, "runs": together["runs"].drop(BASELINE)}, BaselineRuns(**alone)


def _present(path: Path) -> Path:
    if not path.is_file():
        raise _incomplete(path.parent, path.name)
    return path


def _incomplete(folder: Path, missing: str) -> TussleError:
    return TussleError(f"{folder} is not a complete dataset: {missing} is missing; run it again")


def _damaged(path: Path, reason: object) -> TussleError:
    first_line = str(reason).partition("\n")[0]
    return TussleError(f"{path} is cut short or damaged ({first_line}); run the scenario again")
