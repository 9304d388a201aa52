"""Comparison of two datasets, or of the values of an axis of one: which differences are real."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from tussle.compare._notes import notes
from tussle.compare._points import Side, match, sides_along
from tussle.compare._rows import NOT_SHOWN, REAL, SCHEMA, WITHIN, cells_of, one_sided, row_of
from tussle.compare._threshold import Threshold, threshold
from tussle.compare.shown import in_short, table_of
from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.html import paragraph
from tussle.metrics import REGISTRY, Metric, Tables
from tussle.metrics.steadiness import note_on_steadiness

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
    """The metrics to compare, and the differences that matter."""

    metrics: Sequence[str] = ("goodput",)
    thresholds: Mapping[str, Threshold] = field(default_factory=dict)
    """Smallest difference that matters, by metric; without one, any difference matters."""


@dataclass(frozen=True)
class Comparison:
    """The result of a comparison."""

    rows: pl.DataFrame
    """`point, flow, metric, column, first, second, difference, low, high, runs, paired, verdict`."""
    notes: list[str]
    """Other differences (engines, settings, points of one side only), and runs that are not steady."""

    def __repr__(self) -> str:
        return f"<Comparison: {in_short(self.rows)}>"

    def _repr_html_(self) -> str:
        return table_of(self.rows) + "".join(map(paragraph, self.notes))

    @property
    def has_real_difference(self) -> bool:
        """Whether any difference is real and exceeds its threshold."""
        return REAL in self.rows["verdict"]

    @property
    def undecided(self) -> int:
        """Number of differences beyond their threshold that are undecided because of too few runs."""
        return self.rows.filter(pl.col("verdict") == NOT_SHOWN, pl.col("low").is_null()).height


@dataclass(frozen=True)
class Along:
    """The first value of an axis, and each further value compared with it."""

    axis: str
    first: str
    others: Mapping[str, Comparison]
    """A comparison for each further value; the first value is the first side of each."""

    def __repr__(self) -> str:
        return f"<Along {self.axis}, from {self.first}: {in_short(self.rows)}>"

    def _repr_html_(self) -> str:
        return "".join(
            paragraph(f"{self.axis}: A is {self.first}, B is {value}") + each._repr_html_()
            for value, each in self.others.items()
        )

    @property
    def rows(self) -> pl.DataFrame:
        """Rows of all comparisons, after the columns `axis, first_value, second_value`."""
        frames = [
            comparison.rows.select(
                pl.lit(self.axis).alias("axis"),
                pl.lit(self.first).alias("first_value"),
                pl.lit(value).alias("second_value"),
                pl.all(),
            )
            for value, comparison in self.others.items()
        ]
        return pl.concat(frames)


def compare(first: Dataset, second: Dataset, question: Question) -> Comparison:
    """Compare two datasets point by point: those whose axes have the same values.

    Runs of one seed are compared with one another; where no seed is in both, all runs with all. Raises
    TussleError when a metric cannot be compared, and when the datasets have no point in common.
    """
    return _compared(Side.of(first), Side.of(second), question, notes(first, second))


def along(tables: Tables, axis: str, question: Question) -> Along:
    """Compare each further value of an axis with the first, point by point over the other axes.

    Runs of one seed are compared with one another. Raises TussleError when there is no such axis, when it has
    one value, and when a metric cannot be compared.
    """
    first, *others = sides_along(tables, axis)
    return Along(axis, first.value, {other.value: _compared(first, other, question, []) for other in others})


def _compared(first: Side, second: Side, question: Question, known: list[str]) -> Comparison:
    """Compare two sides; `known` are notes that come before the others."""
    metrics = [_comparable(name) for name in dict.fromkeys([*question.metrics, *question.thresholds])]
    matched = match(first, second)
    cells = [cell for metric in metrics for cell in cells_of(metric, matched)]
    rows = [row_of(cell, question.thresholds.get(cell.metric.name)) for cell in cells if all(cell.values)]
    if not rows:
        names = ", ".join(metric.name for metric in metrics)
        raise TussleError(f"{first.name} and {second.name} have no common value of {names} to compare")
    beside = [
        *known,
        *filter(None, (note_on_steadiness(side.tables, side.name) for side in (first, second))),
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
            f"{name} cannot be compared: it has one value for each {', '.join(metric.per)}; give a metric of "
            "runs or flows, such as goodput"
        )
    return metric
