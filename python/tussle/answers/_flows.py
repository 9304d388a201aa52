"""Medians of flows and points, as a table to be shown."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence

import polars as pl

from tussle.answers._grid import Cell, Grid, Heading
from tussle.metrics import REGISTRY, Tables, axis_columns, summarise

_MOST_ROWS = 40
"""Largest number of rows that are shown; the report has all of them."""
_ALIKE_FROM = 4
"""Fewer similar flows have a row each, so that differences between them are visible."""
_WHOLE_FROM = 999.5
_LEAST_SHOWN = 0.001

FLOW_COLUMNS = {
    "goodput\nMbit/s": ("goodput", "goodput_bit_per_s", 1e-6),
    "share\n%": ("share", "share", 100),
    "took\ns": ("completion", "completion_s", 1),
    "retr.\n%": ("retransmitted", "retransmitted_fraction", 100),
    "time-\nouts": ("timeouts", "steady_timeouts", 1),
    "RTT\nms": ("rtt", "rtt_p50_ms", 1),
}
POINT_COLUMNS = {
    "Jain\nindex": ("jain", "jain_index", 1),
    "link\n%": ("utilisation", "utilisation", 100),
    "queue\nms": ("queue", "queue_mean_ms", 1),
}
"""Columns of points by title, short for terminals of 80 columns: the metric, its column, and a factor."""
_OF_TRANSFERS = {"completion"}
_OF_GREEDY_FLOWS = {"share", "jain"}
"""Metrics that are not shown where flows have a size."""


def flow_grid(tables: Tables) -> Grid:
    """Return the medians over the repetitions of each point, a row for each flow."""
    axes = [axis for axis in axis_columns(tables) if not axis.endswith(".algorithm")]  # it has its column
    of_flows, of_points = shown_columns(tables)
    rows = _medians_of_flows(tables, of_flows.values())
    for metric, column, _ in of_points.values():
        values = summarise(REGISTRY[metric], tables)
        rows = rows.join(values.select("point", column), on="point", how="left")
    points = tables.runs.select("point", *axes).unique("point").collect()
    rows = rows.join(points, on="point", how="left").sort("point", "flow")
    headings = [Heading(axis.replace(".", ".\n")) for axis in axes]
    headings += [Heading("flow"), Heading("algo-\nrithm")]
    headings += [Heading(title, "number") for title in (*of_flows, *of_points)]
    shown: list[Sequence[Cell]] = []
    point = None
    for row in rows.head(_MOST_ROWS).iter_rows(named=True):
        own = [_number(row[column], factor) for _, column, factor in of_flows.values()]
        shared = [_number(row[column], factor) for _, column, factor in of_points.values()]
        first = row["point"] != point
        point = row["point"]
        words = [
            *(row[axis] if first else "" for axis in axes),
            row["who"] if row["flows"] == 1 else f"{row['flows']} x {row['who']}",
            row["algorithm"],
            *own,
            *(shared if first else [""] * len(shared)),
        ]
        shown.append([Cell(each) for each in words])
    notes = []
    if rows["flows"].max() != 1:
        notes.append("a row has the medians of all flows whose names differ by a number")
    if rows.height > _MOST_ROWS:
        notes.append(f"and {rows.height - _MOST_ROWS} more rows in the report")
    return Grid("", headings, shown, "; ".join(notes), keys=len(axes) + 2)


Columns = Mapping[str, tuple[str, str, float]]


def shown_columns(tables: Tables) -> tuple[Columns, Columns]:
    """Return the columns of flows and those of points that suit these flows."""
    hidden = _OF_GREEDY_FLOWS if _has_transfers(tables) else _OF_TRANSFERS
    of_flows, of_points = (
        {title: column for title, column in columns.items() if column[0] not in hidden}
        for columns in (FLOW_COLUMNS, POINT_COLUMNS)
    )
    return of_flows, of_points


def _has_transfers(tables: Tables) -> bool:
    return tables.flows.select(pl.col("completion_s").is_not_null().any()).collect().item()


def _medians_of_flows(tables: Tables, columns: Iterable[tuple[str, str, float]]) -> pl.DataFrame:
    """Return a row for each flow of a point; if there are too many, one row for several similar flows.

    Columns: `point, who, algorithm, flow` (the first one's number), `flows` (how many) and the medians.
    """
    runs = tables.runs.select("run", "point")
    flows = tables.flows.select("run", "flow", "name", "algorithm").join(runs, on="run").collect()
    who = pl.col("name")
    if flows.select("point", "flow").n_unique() > _MOST_ROWS:
        kind = who.str.replace(r"-\d+$", "")
        alike = who.n_unique().over("point", kind, "algorithm")
        who = pl.when(alike >= _ALIKE_FROM).then(kind).otherwise(who)
    flows = flows.with_columns(who.alias("who"))
    keys = ["point", "who", "algorithm"]
    medians = flows.group_by(keys).agg(pl.col("flow").min(), pl.col("name").n_unique().alias("flows"))
    for metric, column, _ in columns:
        values = REGISTRY[metric].compute(tables).select("run", "flow", column)
        of_flows = flows.join(values, on=["run", "flow"], how="left")
        medians = medians.join(of_flows.group_by(keys).agg(pl.col(column).median()), on=keys)
    return medians


def _number(value: float | None, factor: float) -> str:
    """Format a number with three digits and at most three decimals, or as a whole number if that has more."""
    if value is None:
        return "-"
    number = value * factor
    if 0 < number < _LEAST_SHOWN:
        return f"<{_LEAST_SHOWN}"
    if abs(number) >= _WHOLE_FROM:
        return f"{number:.0f}"
    return f"{round(number, 3):.3g}"
