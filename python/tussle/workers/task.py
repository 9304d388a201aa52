"""Execution of some runs in a worker: its task, and its outcome."""

import io
import itertools
import time
import zipfile
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias, TypeVar

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, Table
from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.workers.costs import Cost, added, costs_of

Tables: TypeAlias = Mapping[str, pl.DataFrame]
"""Tables of one run, as an engine returns them."""
Result = TypeVar("Result")

TASK_S = 0.5
"""Time after which a worker starts no further run of its task.

Longer tasks would lose more with a worker; shorter ones would cost more to distribute than to execute.
"""


@dataclass(frozen=True)
class Task:
    """Consecutive runs for an engine, as they are sent to a worker."""

    first: int
    """Index of the first run."""
    engine: Engine
    runs: Sequence[Mapping[str, Any]]


@dataclass(frozen=True)
class Failure:
    """Reason why a run failed."""

    sentence: str
    details: str = ""
    """Text shown above the sentence, as in `TussleError`."""


@dataclass(frozen=True)
class Outcome:
    """Outcome of a task; the worker may have stopped before its end."""

    finished: int
    """Number of executed runs, from the first on."""
    packed: bytes
    """Tables of these runs, packed so that they can be stored without being read; see `pack`."""
    costs: tuple[Cost, ...]
    failure: Failure | None
    """Reason why the next run failed, if it was tried."""
    took_s: float
    """Duration by the wall clock of the worker, from which the number of runs per task follows."""


def execute(task: Task) -> Outcome:
    """Execute the runs of a task, one after the other, for `TASK_S` or until one fails."""
    began = time.perf_counter()
    done: list[Tables] = []
    failure = None
    for run in task.runs:
        made = _tried(lambda run=run: task.engine.execute(run))
        if isinstance(made, Failure):
            failure = made
            break
        done.append(made)
        if time.perf_counter() - began >= TASK_S:
            break
    packed = _tried(lambda: pack(task.first, done))
    if isinstance(packed, Failure):
        # The tables of an engine do not conform; find the run.
        fit = list(itertools.takewhile(lambda each: isinstance(each, bytes), _packed_alone(task.first, done)))
        packed, failure, done = pack(task.first, done[: len(fit)]), packed, done[: len(fit)]
    costs = tuple(added(cost for tables in done for cost in costs_of(tables)))
    return Outcome(len(done), packed, costs, failure, time.perf_counter() - began)


def pack(first: int, runs: Sequence[Tables]) -> bytes:
    """Return tables of runs, from the index `first` on, as a ZIP file of Arrow streams; nothing for no runs.

    Each has the column `run`, and conforms to its declaration. Raises TussleError for tables that cannot.
    """
    if not runs:
        return b""
    packed = io.BytesIO()
    # Most runs are short: names of columns take most of the space, and Arrow compresses values only.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for table in _tables_of(runs):
            arrow = io.BytesIO()
            _together(table, first, runs).write_ipc_stream(arrow)
            archive.writestr(table.name, arrow.getvalue())
    return packed.getvalue()


def _tried(step: Callable[[], Result]) -> Result | Failure:
    """Return the result of a step, or the reason of its failure."""
    try:
        return step()
    except TussleError as error:
        return Failure(str(error), error.details)
    except KeyboardInterrupt:
        raise
    except BaseException as error:
        # A panic of the simulator is not an Exception.
        kind = type(error).__name__
        return Failure(f"{kind}: {error} (a bug in Tussle, not in the scenario: please report it)")


def _packed_alone(first: int, runs: Sequence[Tables]) -> Iterator[bytes | Failure]:
    for index, tables in enumerate(runs, first):
        yield _tried(lambda index=index, tables=tables: pack(index, [tables]))


def _tables_of(runs: Sequence[Tables]) -> list[Table]:
    """Return the tables that every run must have, and those that some have."""
    filled = {name for tables in runs for name in tables}
    return [*ENGINE_TABLES.values(), *(each for name, each in OPTIONAL_TABLES.items() if name in filled)]


def _together(table: Table, first: int, runs: Sequence[Tables]) -> pl.DataFrame:
    """Return one table of all runs, in their order."""
    # Columns depend on the runs' algorithms. Runs with equal columns are checked together, which is faster
    # and finds the same faults.
    alike: dict[tuple[str, ...], list[tuple[int, pl.DataFrame]]] = {}
    for index, tables in enumerate(runs, first):
        frame = tables.get(table.name)
        columns = () if frame is None else tuple(frame.columns)
        if frame is None or "run" in columns:
            raise TussleError(f"the engine's tables must have {table.name}, without a column `run`")
        alike.setdefault(columns, []).append((index, frame))
    conforming = [table.conform(_with_run(each)) for each in alike.values()]
    if len(conforming) == 1:
        return conforming[0]
    return pl.concat(conforming, how="diagonal").sort("run", maintain_order=True)


def _with_run(frames: Sequence[tuple[int, pl.DataFrame]]) -> pl.DataFrame:
    """Return frames below each other, each with its index in the column `run`."""
    rows = [(index, frame.height) for index, frame in frames if frame.height]
    counts = pl.DataFrame(rows, schema={"run": pl.UInt32, "rows": pl.UInt32}, orient="row")
    runs = counts.select(pl.col("run").repeat_by("rows").explode())["run"]
    whole = pl.concat([frame for _, frame in frames], how="vertical_relaxed")
    return whole.with_columns(runs)
