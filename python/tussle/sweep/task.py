"""Some runs, executed in a worker: what is handed to it, and what comes back."""

import io
import time
import zipfile
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, Table
from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.sweep.costs import Cost, added, costs_of

TASK_S = 0.25
"""A worker goes on to the next run of its task until so much time has passed.

Longer tasks would lose more with a worker; shorter ones would cost more to hand out than to execute.
"""


@dataclass(frozen=True)
class Task:
    """Runs that follow each other, for an engine, as they travel to a worker."""

    first: int
    """Index of the first."""
    engine: Engine
    runs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Failure:
    """Why a run came to nothing."""

    sentence: str
    details: str = ""
    """What stands above the sentence, as in `TussleError`."""


@dataclass(frozen=True)
class Outcome:
    """What came of a task; the worker may have stopped before its end."""

    finished: int
    """How many of its runs, from the first, were executed."""
    packed: bytes
    """Their tables, so that whoever stores them need not look inside; see `pack`."""
    costs: tuple[Cost, ...]
    failure: Failure | None
    """Why the run after those came to nothing, if it was tried."""
    took_s: float
    """By the wall clock of the worker: how many runs a task should have."""


def execute(task: Task) -> Outcome:
    """Execute the runs of a task, one after the other, for `TASK_S` or until one fails."""
    began = time.perf_counter()
    done: list[Mapping[str, pl.DataFrame]] = []
    costs: list[Cost] = []
    failure = None
    for index, run in enumerate(task.runs, task.first):
        try:
            tables = task.engine.execute(run)
            done.append(checked(index, tables))
            costs += costs_of(tables)
        except TussleError as error:
            failure = Failure(str(error), error.details)
        except (KeyboardInterrupt, SystemExit):
            raise
        except BaseException as error:
            # A panic of the simulator is no Exception.
            kind = type(error).__name__
            failure = Failure(f"{kind}: {error} (a mistake in Tussle, not in the scenario: please report it)")
        took_s = time.perf_counter() - began
        if failure or took_s >= TASK_S:
            break
    packed = pack(done) if done else b""
    return Outcome(len(done), packed, tuple(added(costs)), failure, time.perf_counter() - began)


def checked(index: int, tables: Mapping[str, pl.DataFrame]) -> dict[str, pl.DataFrame]:
    """Return the tables of the run of that index, with the column `run`, as they are declared.

    Raises TussleError where an engine's tables cannot be those.
    """
    return {name: _checked(index, tables, table) for name, table in _tables_of(tables).items()}


def pack(runs: Sequence[Mapping[str, pl.DataFrame]]) -> bytes:
    """Tables of runs, each below those of the runs before, as a ZIP file of Arrow streams."""
    packed = io.BytesIO()
    # Most runs are short: what takes room is the names of the columns, and Arrow compresses values only.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name in _tables_of(runs[0]):
            arrow = io.BytesIO()
            # Runs of other algorithms have other columns.
            pl.concat([tables[name] for tables in runs], how="diagonal").write_ipc_stream(arrow)
            archive.writestr(name, arrow.getvalue())
    return packed.getvalue()


def _tables_of(tables: Mapping[str, pl.DataFrame]) -> dict[str, Table]:
    return ENGINE_TABLES | {name: each for name, each in OPTIONAL_TABLES.items() if name in tables}


def _checked(index: int, tables: Mapping[str, pl.DataFrame], table: Table) -> pl.DataFrame:
    if table.name not in tables or "run" in tables[table.name].columns:
        raise TussleError(f"the engine's tables must have {table.name}, without a column `run`")
    return table.conform(tables[table.name].with_columns(run=pl.lit(index, pl.UInt32)))
