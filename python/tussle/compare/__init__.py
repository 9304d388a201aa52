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
    rows = [row for metric in metrics for row in _rows(metric, matched, question.thresholds.get(metric.name))]
    if not rows:
        names = ", ".join(metric.name for metric in metrics)
        raise TussleError(f"{first.folder} and {second.folder} share no value of {names} to compare")
    return Comparison(pl.DataFrame(rows, schema=_SCHEMA), [*notes(first, second), *matched.notes])


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


def _rows(metric: Metric, matched: Matched, limit: Threshold | None) -> Iterator[dict[str, Any]]:
    tables = [_values(metric, dataset) for dataset in (matched.first, matched.second)]
    numbers = tables[0].select(
        selectors.numeric() - selectors.by_name("run", "point", "flow", "seed", require_all=False)
    )
    for label, points in matched.points.items():
        both = [table.filter(pl.col("point") == point) for table, point in zip(tables, points, strict=True)]
        flows = [flow for flow in both[0]["flow"].unique().sort().to_list() if flow in both[1]["flow"]]
        for flow in flows:
            of_flow = [table.filter(pl.col("flow") == flow) for table in both]
            for column in numbers.columns:
                found = _difference(column, of_flow)
                if found is not None:
                    verdict = _verdict(found, limit.amount(found.first) if limit else 0.0)
                    named = {"point": label, "flow": _flow_name(metric, of_flow)}
                    yield (
                        named
                        | {"metric": metric.name, "column": column}
                        | _cells(found)
                        | {"verdict": verdict}
                    )


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


def _flow_name(metric: Metric, tables: Sequence[pl.DataFrame]) -> str | None:
    if "flow" not in metric.per:
        return None
    return " / ".join(dict.fromkeys(table["name"][0] for table in tables))


def _difference(column: str, tables: Sequence[pl.DataFrame]) -> Difference | None:
    """Compare a column of two tables; `None` where one of them has no value."""
    told = [table.filter(pl.col(column).is_not_null()) for table in tables]
    if any(table.is_empty() for table in told):
        return None
    by_seed = (
        told[0]
        .select("seed", pl.col(column).cast(pl.Float64).alias("first"))
        .join(told[1].select("seed", pl.col(column).cast(pl.Float64).alias("second")), on="seed")
    )
    if by_seed.is_empty():
        return unpaired_difference(*(table[column].cast(pl.Float64).to_list() for table in told))
    by_seed = by_seed.sort("seed")
    return paired_difference(by_seed["first"].to_list(), by_seed["second"].to_list())


def _verdict(found: Difference, most: float) -> str:
    if abs(found.difference) <= most:
        return WITHIN
    if found.low is None or found.high is None or found.low <= 0 <= found.high:
        return NOT_SHOWN
    return REAL


def _cells(found: Difference) -> dict[str, Any]:
    return {
        "first": found.first,
        "second": found.second,
        "difference": found.difference,
        "low": found.low,
        "high": found.high,
        "runs": found.runs,
        "paired": found.is_paired,
    }
