"""The values of both sides of a comparison, and the result for each pair of values."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl
from polars import selectors

from tussle.compare._points import Matched, Side
from tussle.compare._threshold import Threshold
from tussle.errors import TussleError
from tussle.metrics import Metric
from tussle.statistics import Difference, paired_difference, unpaired_difference

REAL = "real"
"""Larger than the threshold, and the 95 % interval does not contain 0."""
NOT_SHOWN = "not shown"
"""Larger than the threshold, but the interval contains 0, or the runs are too few for an interval."""
WITHIN = "within threshold"
"""No larger than the threshold."""

SCHEMA = {
    "point": pl.String,
    "flow": pl.String,
    "metric": pl.String,
    "column": pl.String,
    "first": pl.Float64,
    "second": pl.Float64,
    "difference": pl.Float64,
    "low": pl.Float64,
    "high": pl.Float64,
    "runs": pl.UInt32,
    "paired": pl.Boolean,
    "verdict": pl.String,
}
"""Columns of the rows of `row_of`."""


@dataclass(frozen=True)
class Cell:
    """A column of a metric at one point, for one flow, on both sides."""

    metric: Metric
    column: str
    point: str
    flow: str | None
    values: tuple[dict[int, float], ...]
    """The values of each side by seed."""


def cells_of(metric: Metric, matched: Matched) -> Iterator[Cell]:
    """Yield a cell for each column, point and flow that both sides have."""
    tables = [_values(metric, side) for side in (matched.first, matched.second)]
    identity = selectors.by_name("run", "point", "flow", "seed", require_all=False)
    columns = tables[0].select(selectors.numeric() - identity).columns
    for label, points in matched.points.items():
        both = [table.filter(pl.col("point") == point) for table, point in zip(tables, points, strict=True)]
        for flow in sorted({*both[0]["flow"]} & {*both[1]["flow"]}):
            of_flow = [table.filter(pl.col("flow") == flow) for table in both]
            names = dict.fromkeys(table["name"][0] for table in of_flow)
            flow_name = " / ".join(names) if "flow" in metric.per else None
            for column in columns:
                values = tuple(_by_seed(table, column) for table in of_flow)
                yield Cell(metric, column, label, flow_name, values)


def _by_seed(table: pl.DataFrame, column: str) -> dict[int, float]:
    found = table.select("seed", pl.col(column).cast(pl.Float64)).drop_nulls().sort("seed")
    return dict(found.iter_rows())


def one_sided(cells: Sequence[Cell], matched: Matched) -> Iterator[str]:
    """Yield notes on columns without values on one side or on both, at points that both have."""
    names = matched.first.name, matched.second.name
    for metric, column in dict.fromkeys((cell.metric.name, cell.column) for cell in cells):
        of_column = [cell for cell in cells if (cell.metric.name, cell.column) == (metric, column)]
        if not any(any(cell.values) for cell in of_column):
            yield f"not compared: neither dataset has values of {column} ({metric})"
        for side, name in enumerate(names):
            alone = [cell for cell in of_column if cell.values[side] and not cell.values[1 - side]]
            if alone:
                what = f"values of {column} ({metric}) that only {name} has"
                yield f"not compared: {what}, {len(alone)} of them"


def _values(metric: Metric, side: Side) -> pl.DataFrame:
    """Return the metric's table with `point`, `seed`, `flow` and the flow's `name`."""
    tables = side.tables
    try:
        table = metric.compute(tables)
    except TussleError as error:
        raise TussleError(f"{side.name}: {error}") from error
    table = table.join(tables.runs.select("run", "point", "seed").collect(), on="run")
    if "flow" not in metric.per:
        return table.with_columns(pl.lit(0).alias("flow"), pl.lit("").alias("name"))
    return table.join(tables.flows.select("run", "flow", "name").collect(), on=["run", "flow"])


def row_of(cell: Cell, limit: Threshold | None) -> dict[str, Any]:
    """Compare a cell that has values on both sides; differences up to the threshold do not count."""
    found = _difference(*cell.values)
    return {
        "point": cell.point,
        "flow": cell.flow,
        "metric": cell.metric.name,
        "column": cell.column,
        "first": found.first,
        "second": found.second,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "runs": found.runs,
        "paired": found.is_paired,
        "verdict": _verdict(found, limit.amount(found.first) if limit else 0.0),
    }


def _difference(first: Mapping[int, float], second: Mapping[int, float]) -> Difference:
    """Compare values by seed: in pairs, where both have some of the same seeds."""
    common = [seed for seed in first if seed in second]
    if common:
        return paired_difference([first[seed] for seed in common], [second[seed] for seed in common])
    return unpaired_difference([*first.values()], [*second.values()])


def _verdict(found: Difference, most: float) -> str:
    if abs(found.difference) <= most:
        return WITHIN
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return NOT_SHOWN
    return REAL
