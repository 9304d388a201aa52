"""From the stored runs to the tables of a dataset, a batch at a time: the results need not fit in memory."""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars.io.plugins import register_io_source

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, TABLES, Table
from tussle.scenario import PlannedRun
from tussle.sweep.partial import Partial

_ROWS_A_BATCH = 50_000
_PACKET_BYTES = 1500
_BOTTLENECK = "bottleneck"


@dataclass(frozen=True)
class Stored:
    """The finished runs of a sweep, and the plan that they follow."""

    partial: Partial
    plan: Sequence[PlannedRun]


def merged(stored: Stored) -> dict[str, pl.LazyFrame]:
    """Every table of the dataset, in the order of the plan."""
    runs = runs_table(stored.plan).lazy()
    # One engine executed all runs: what it fills for one it fills for each.
    filled = stored.partial.names(stored.plan[0].index)
    optional = {name: table for name, table in OPTIONAL_TABLES.items() if name in filled}
    return {"runs": runs} | {
        name: _merged(stored, table) for name, table in (ENGINE_TABLES | optional).items()
    }


def runs_table(plan: Sequence[PlannedRun]) -> pl.DataFrame:
    """The table `runs`: what was planned, one row a run."""
    table = TABLES["runs"]
    # Solo runs have fewer axes, and one column more.
    axes = list(dict.fromkeys(axis for planned in plan for axis in planned.axes))
    return pl.DataFrame([_row(planned) | planned.axes for planned in plan], schema=table.schema(axes))


def _row(planned: PlannedRun) -> dict[str, object]:
    run = planned.run
    elements = {element["name"]: element for element in run["elements"]}
    there, back = elements.get(_BOTTLENECK, {}), elements.get(f"{_BOTTLENECK}-reverse", {})
    delay = there["delay_ns"] + back.get("delay_ns", 0) if there else None
    return {
        "run": planned.index,
        "point": planned.point,
        "repetition": planned.repetition,
        "seed": planned.seed,
        "duration_s": run["duration_ns"] / 1e9,
        "steady_from_s": run["steady"]["from_ns"] / 1e9,
        "steady_to_s": run["steady"]["to_ns"] / 1e9,
        "link_rate_bit_per_s": _rate_bit_per_s(there),
        "base_rtt_ms": delay / 1e6 if delay is not None else None,
        "buffer_packets": _buffer_packets(there.get("queue", {})),
    }


def _rate_bit_per_s(link: dict[str, Any]) -> float | None:
    if "opportunities_ms" in link:
        times_ms = link["opportunities_ms"]
        return len(times_ms) * _PACKET_BYTES * 8 * 1e3 / times_ms[-1]
    return float(link["rate_bit_per_s"]) if link else None


def _buffer_packets(queue: dict[str, Any]) -> int | None:
    limits = [queue.get("limit_packets"), _packets(queue.get("limit_bytes"))]
    return min((limit for limit in limits if limit is not None), default=None)


def _packets(size_bytes: int | None) -> int | None:
    return None if size_bytes is None else size_bytes // _PACKET_BYTES


def _merged(stored: Stored, table: Table) -> pl.LazyFrame:
    schema = table.schema(sorted(_more_names(stored, table)))

    def batches(*_asked_for: object) -> Iterator[pl.DataFrame]:
        # Whoever writes a file asks for all columns and all rows.
        return _batches(stored, table.name, pl.DataFrame(schema=schema))

    return register_io_source(batches, schema=schema)


def _more_names(stored: Stored, table: Table) -> set[str]:
    """Undeclared columns of the table over all runs: runs of other algorithms have other ones."""
    if table.more is None:
        return set()
    found = (stored.partial.read(planned.index, table.name).columns for planned in stored.plan)
    return set().union(*(table.more_names(columns) for columns in found))


def _batches(stored: Stored, name: str, empty: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """The runs' tables, with all the columns of `empty`, joined to batches of some size."""
    frames, rows = [empty], 0
    for planned in stored.plan:
        frame = stored.partial.read(planned.index, name)
        frames.append(frame)
        rows += frame.height
        if rows >= _ROWS_A_BATCH:
            yield pl.concat(frames, how="diagonal")
            frames, rows = [empty], 0
    yield pl.concat(frames, how="diagonal")
