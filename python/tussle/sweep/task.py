"""One run, executed in a worker: what is handed to it, and what comes back."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES
from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.sweep.costs import Cost, costs_of


@dataclass(frozen=True)
class Task:
    """A run for an engine, as it travels to a worker."""

    index: int
    engine: Engine
    run: Mapping[str, Any]


@dataclass(frozen=True)
class Finished:
    """What came of a run: its tables packed, so that whoever stores them need not look inside."""

    packed: bytes
    costs: tuple[Cost, ...] = ()


@dataclass(frozen=True)
class Failure:
    """Why a run came to nothing."""

    sentence: str
    details: str = ""
    """What stands above the sentence, as in `TussleError`."""


def execute(task: Task) -> Finished | Failure:
    """Execute a run."""
    try:
        tables = task.engine.execute(task.run)
        return Finished(pack(task.index, tables), costs_of(tables))
    except TussleError as error:
        return Failure(str(error), error.details)
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # A panic of the simulator is no Exception.
        kind = type(error).__name__
        return Failure(f"{kind}: {error} (a mistake in Tussle, not in the scenario: please report it)")


def pack(index: int, tables: Mapping[str, pl.DataFrame]) -> bytes:
    """Tables of the run of that index as a ZIP file of Arrow streams, checked against their declarations."""
    packed = io.BytesIO()
    # Most runs are short: what takes room is the names of the columns, and Arrow compresses values only.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        optional = {name: each for name, each in OPTIONAL_TABLES.items() if name in tables}
        for name, table in (ENGINE_TABLES | optional).items():
            if name not in tables or "run" in tables[name].columns:
                raise TussleError(f"the engine's tables must have {name}, without a column `run`")
            frame = tables[name].with_columns(run=pl.lit(index, pl.UInt32))
            arrow = io.BytesIO()
            table.conform(frame).write_ipc_stream(arrow)
            archive.writestr(name, arrow.getvalue())
    return packed.getvalue()
