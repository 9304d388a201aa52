"""Conversion of stored runs to the tables of a dataset, in batches: the results need not fit in memory."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple

import polars as pl
from polars.io.plugins import register_io_source

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, TABLES, Table, parts_of
from tussle.scenario import Bottleneck, PlannedRun
from tussle.sweep.partial import Piece

_ROWS_A_BATCH = 50_000


class _Rows(NamedTuple):
    """Source of the rows of a part of a table."""

    pieces: Sequence[Piece]
    table: str
    runs: range


def merged(pieces: Sequence[Piece], plan: Sequence[PlannedRun]) -> dict[str, list[pl.LazyFrame]]:
    """Return every table of the dataset in its parts, in the order of the plan.

    `pieces` are the runs of the plan, in its order.
    """
    # One engine executed all runs, so that every run has the same tables.
    filled = pieces[0].names()
    optional = {name: table for name, table in OPTIONAL_TABLES.items() if name in filled}
    parts = parts_of(len(plan))
    runs = runs_table(plan)
    return {"runs": [runs[part.start : part.stop].lazy() for part in parts]} | {
        name: _merged(pieces, table, parts) for name, table in (ENGINE_TABLES | optional).items()
    }


def runs_table(plan: Sequence[PlannedRun]) -> pl.DataFrame:
    """Return the table `runs`: the plan, one row per run."""
    table = TABLES["runs"]
    # Baseline runs have fewer axes, and one column more.
    axes = list(dict.fromkeys(axis for planned in plan for axis in planned.axes))
    return pl.DataFrame([_row(planned) | planned.axes for planned in plan], schema=table.schema(axes))


def _row(planned: PlannedRun) -> dict[str, object]:
    run = planned.run
    bottleneck = Bottleneck.of_run(run)
    base_rtt_ns = bottleneck.base_rtt_ns
    return {
        "run": planned.index,
        "point": planned.point,
        "repetition": planned.repetition,
        "seed": planned.seed,
        "duration_s": run["duration_ns"] / 1e9,
        "steady_from_s": run["steady"]["from_ns"] / 1e9,
        "steady_to_s": run["steady"]["to_ns"] / 1e9,
        "link_rate_bit_per_s": bottleneck.rate_bit_per_s,
        "base_rtt_ms": None if base_rtt_ns is None else base_rtt_ns / 1e6,
        "buffer_packets": bottleneck.buffer_packets,
    }


def _merged(pieces: Sequence[Piece], table: Table, parts: Sequence[range]) -> list[pl.LazyFrame]:
    empty = pl.DataFrame(schema=table.schema(sorted(_more_names(pieces, table))))
    return [_lazy(_Rows(_within(pieces, part), table.name, part), empty) for part in parts]


def _within(pieces: Sequence[Piece], part: range) -> list[Piece]:
    return [piece for piece in pieces if piece.runs.start < part.stop and piece.runs.stop > part.start]


def _more_names(pieces: Sequence[Piece], table: Table) -> set[str]:
    """Return undeclared columns of the table over all runs, which depend on their algorithms."""
    if table.more is None:
        return set()
    return set().union(*(table.more_names(piece.read(table.name).columns) for piece in pieces))


def _lazy(rows: _Rows, empty: pl.DataFrame) -> pl.LazyFrame:
    def batches(*_asked_for: object) -> Iterator[pl.DataFrame]:
        # A writer of files reads all columns and all rows.
        return _batches(rows, empty)

    return register_io_source(batches, schema=empty.schema)


def _batches(rows: _Rows, empty: pl.DataFrame) -> Iterator[pl.DataFrame]:
    """Yield the runs' tables, with all columns of `empty`, in batches."""
    frames, height = [empty], 0
    for piece in rows.pieces:
        frame = piece.read(rows.table)
        if piece.runs.start < rows.runs.start or piece.runs.stop > rows.runs.stop:
            frame = frame.filter(pl.col("run").is_between(rows.runs.start, rows.runs.stop, closed="left"))
        frames.append(frame)
        height += frame.height
        if height >= _ROWS_A_BATCH:
            yield pl.concat(frames, how="diagonal")
            frames, height = [empty], 0
    yield pl.concat(frames, how="diagonal")
