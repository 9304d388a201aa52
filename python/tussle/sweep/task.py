"""One run, executed in a worker: what is handed to it, and what comes back."""

import io
import zipfile
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

import polars as pl

from tussle.dataset import ENGINE_TABLES
from tussle.engines import Engine
from tussle.errors import TussleError


@dataclass(frozen=True)
class Task:
    """A run for an engine, as it travels to a worker."""

    engine: Engine
    run: Mapping[str, Any]


@dataclass(frozen=True)
class Failure:
    """Why a run came to nothing."""

    sentence: str


def execute(task: Task) -> bytes | Failure:
    """Execute a run; its tables come back packed, so that whoever stores them need not look inside."""
    try:
        return pack(task.engine.execute(task.run))
    except TussleError as error:
        return Failure(str(error))
    except (KeyboardInterrupt, SystemExit):
        raise
    except BaseException as error:
        # A panic of the simulator is no Exception.
        kind = type(error).__name__
        return Failure(f"{kind}: {error} (a mistake in Tussle, not in the scenario: please report it)")


def pack(tables: Mapping[str, pl.DataFrame]) -> bytes:
    """Tables of one run as a ZIP file of Arrow files, checked against their declarations."""
    packed = io.BytesIO()
    # Most runs are short: what takes room is the names of the columns, and Arrow compresses values only.
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED, compresslevel=1) as archive:
        for name, table in ENGINE_TABLES.items():
            if name not in tables:
                raise TussleError(f"the engine wrote no table {name}")
            if "run" in tables[name].columns:
                raise TussleError(f"the engine's table {name} has a column `run`, which is the sweep's")
            arrow = io.BytesIO()
            table.conform(tables[name].with_columns(run=pl.lit(0, pl.UInt32))).drop("run").write_ipc(arrow)
            archive.writestr(name, arrow.getvalue())
    return packed.getvalue()
