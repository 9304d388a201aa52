"""Comparing two datasets, or the values of an axis of one: which differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tussle.compare._notes import notes, unsteadiness
from tussle.compare._points import Side, match, sides_along
from tussle.compare._rows import NOT_SHOWN, REAL, SCHEMA, WITHIN, cells_of, one_sided, row_of
from tussle.compare._threshold import Threshold, threshold
from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY, Metric, Tables

__all__ = [
    "NOT_SHOWN",
    "REAL",
    "WITHIN",
    "Along",
    "Comparison",
    "Question",
    "Threshold",
    "along",
    "compare",
    "threshold",
]


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


@dataclass(frozen=True)
class Along:
    """The first value of an axis, and each further value compared with it."""

    axis: str
    first: str
    others: Mapping[str, Comparison]
    """By the further value; the first value is the first side of each comparison."""

    @property
    def rows(self) -> pl.DataFrame:
        """Rows of all comparisons, after the columns `axis, first_value, second_value`."""
        told = [
            comparison.rows.select(
                pl.lit(self.axis).alias("axis"),
                pl.lit(self.first).alias("first_value"),
                pl.lit(value).alias("second_value"),
                pl.all(),
            )
            for value, comparison in self.others.items()
        ]
        return pl.concat(told)


def compare(first: Dataset, second: Dataset, question: Question) -> Comparison:
    """Compare two datasets point by point: those whose axes have the same values.

    Runs of one seed are compared with one another; where no seed is in both, all with all. Raises TussleError
    when a metric cannot be compared, and when the datasets have no point in common.
    """
    sides = Side.of(first), Side.of(second)
    return _compared(sides, question, notes(first, second))


def along(tables: Tables, axis: str, question: Question) -> Along:
    """Compare each further value of an axis with the first, point by point over the other axes.

    Runs of one seed are compared with one another. Raises TussleError when there is no such axis, when it has
    one value, and when a metric cannot be compared.
    """
    first, *others = sides_along(tables, axis)
    return Along(
        axis, first.value, {other.value: _compared((first, other), question, []) for other in others}
    )


def _compared(sides: tuple[Side, Side], question: Question, known: list[str]) -> Comparison:
    """Compare two sides; `known` are the notes on them that are known already."""
    metrics = [_comparable(name) for name in dict.fromkeys([*question.metrics, *question.thresholds])]
    matched = match(*sides)
    cells = [cell for metric in metrics for cell in cells_of(metric, matched)]
    rows = [row_of(cell, question.thresholds.get(cell.metric.name)) for cell in cells if all(cell.told)]
    if not rows:
        names = ", ".join(metric.name for metric in metrics)
        raise TussleError(f"{sides[0].name} and {sides[1].name} share no value of {names} to compare")
    beside = [
        *known,
        *(note for side in sides for note in unsteadiness(side)),
        *matched.notes,
        *one_sided(cells, matched),
    ]
    return Comparison(pl.DataFrame(rows, schema=SCHEMA), beside)


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
