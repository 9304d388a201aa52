"""Comparing two datasets: which differences are real."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

import polars as pl
from polars import selectors

from tussle.compare._notes import notes
from tussle.compare._points import Matched, match
from tussle.compare._threshold import Threshold, threshold
from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY, Metric
from tussle.statistics import Difference, paired_difference, unpaired_difference

__all__ = ["NOT_SHOWN", "REAL", "WITHIN", "Comparison", "Question", "Threshold", "compare", "threshold"]

REAL = "real"
"""Larger than the threshold, and the 95 % interval does not hold 0."""
NOT_SHOWN = "not shown"
"""Larger than the threshold, but the interval holds 0, or the runs are too few for one."""
WITHIN = "within threshold"
"""No larger than the threshold."""


@dataclass(frozen=True)
class Question:
    """What to compare."""

    metrics: Sequence[str] = ("goodput",)
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    """How large a difference has to be before it matters, by metric; else any matters."""


@dataclass(frozen=True)
class Comparison:
    """What came out."""

    rows: pl.DataFrame
    """`point, flow, metric, column, first, second, difference, low, high, runs, paired, verdict`."""
    notes: list[str]
    """What else is not the same (engines, settings, points that only one has), and what is not steady."""

    @property
    def has_real_difference(self) -> bool:
        """Whether anything differs for real, beyond its threshold."""
        return REAL in self.rows["verdict"]

    @property
    def undecided(self) -> int:
        """How many differences exceed their threshold, with too few runs to say whether they are real."""
        return self.rows.filter(pl.col("verdict") == NOT_SHOWN, pl.col("low").is_null()).height


_SCHEMA = {
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


def compare(first: Dataset, second: Dataset, question: Question) -> Comparison:
    """Compare two datasets point by point: those whose axes have the same values.

    Runs of one seed are compared with one another; where no seed is in both, all with all. Raises TussleError
    when a metric cannot be compared, and when the datasets have no point in common.
    """
    metrics = [_comparable(name) for name in dict.fromkeys([*question.metrics, *question.thresholds])]
    matched = match(first, second)
    cells = [cell for metric in metrics for cell in _cells(metric, matched)]
    rows = [_row(cell, question.thresholds.get(cell.metric.name)) for cell in cells if all(cell.told)]
    if not rows:
        names = ", ".join(metric.name for metric in metrics)
        raise TussleError(f"{first.folder} and {second.folder} share no value of {names} to compare")
    beside = [*notes(first, second), *matched.notes, *_one_sided(cells, matched)]
    return Comparison(pl.DataFrame(rows, schema=_SCHEMA), beside)


def _comparable(name: str) -> Metric:
    if name not in REGISTRY:
        raise TussleError(unknown("metric", name, REGISTRY))
    metric = REGISTRY[name]
    if "run" not in metric.per or not set(metric.per) <= {"run", "flow"}:
        raise TussleError(
            f"{name} cannot be compared: it is one value for each {', '.join(metric.per)}; give a metric of "
            "runs or flows, such as goodput"
        )
    return metric


@dataclass(frozen=True)
class _Cell:
    """A column of a metric at one point, for one flow, in both datasets."""

    metric: Metric
    column: str
    point: str
    flow: str | None
    told: tuple[dict[int, float], ...]
    """The values of each dataset by seed."""


def _cells(metric: Metric, matched: Matched) -> Iterator[_Cell]:
    tables = [_values(metric, dataset) for dataset in (matched.first, matched.second)]
    identity = selectors.by_name("run", "point", "flow", "seed", require_all=False)
    columns = tables[0].select(selectors.numeric() - identity).columns
    for label, points in matched.points.items():
        both = [table.filter(pl.col("point") == point) for table, point in zip(tables, points, strict=True)]
        for flow in sorted({*both[0]["flow"]} & {*both[1]["flow"]}):
            of_flow = [table.filter(pl.col("flow") == flow) for table in both]
            names = dict.fromkeys(table["name"][0] for table in of_flow)
            flow_name = " / ".join(names) if "flow" in metric.per else None
            for column in columns:
                told = tuple(_by_seed(table, column) for table in of_flow)
                yield _Cell(metric, column, label, flow_name, told)


def _by_seed(table: pl.DataFrame, column: str) -> dict[int, float]:
    told = table.select("seed", pl.col(column).cast(pl.Float64)).drop_nulls().sort("seed")
    return dict(told.iter_rows())


def _one_sided(cells: Sequence[_Cell], matched: Matched) -> Iterator[str]:
    """Say which columns have values in one of the datasets only, where both have the point."""
    folders = matched.first.folder, matched.second.folder
    for metric, column in dict.fromkeys((cell.metric.name, cell.column) for cell in cells):
        of_column = [cell for cell in cells if (cell.metric.name, cell.column) == (metric, column)]
        if not any(any(cell.told) for cell in of_column):
            yield f"not compared: neither dataset tells {column} ({metric})"
        for side, folder in enumerate(folders):
            alone = [cell for cell in of_column if cell.told[side] and not cell.told[1 - side]]
            if alone:
                what = f"values of {column} ({metric}) that only {folder} has"
                yield f"not compared: {what}, {len(alone)} of them"


def _values(metric: Metric, dataset: Dataset) -> pl.DataFrame:
    """The metric's table with `point`, `seed`, `flow` and, for people, `name`."""
    try:
        table = metric.compute(dataset)
    except TussleError as error:
        raise TussleError(f"{dataset.folder}: {error}") from error
    table = table.join(dataset.runs.select("run", "point", "seed").collect(), on="run")
    if "flow" not in metric.per:
        return table.with_columns(pl.lit(0).alias("flow"), pl.lit("").alias("name"))
    return table.join(dataset.flows.select("run", "flow", "name").collect(), on=["run", "flow"])


def _row(cell: _Cell, limit: Threshold | None) -> dict[str, Any]:
    found = _difference(*cell.told)
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
