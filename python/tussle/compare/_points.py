"""Which points of two datasets are the same."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tussle.dataset import Dataset
from tussle.errors import TussleError
from tussle.metrics import axis_columns

_MOST_NAMED = 5
_ONLY = "the only point"
"""What a point is called where there is no axis."""


@dataclass(frozen=True)
class Matched:
    """Two datasets and the points that both have."""

    first: Dataset
    second: Dataset
    points: dict[str, tuple[int, int]]
    """Its index in the first and in the second, by its axes in words."""
    notes: list[str]
    """The points that only one of them has."""


def match(first: Dataset, second: Dataset) -> Matched:
    """Find the points whose axes have the same values; raises TussleError when there are none."""
    mine, theirs = _points(first), _points(second)
    common = {label: (point, theirs[label]) for label, point in mine.items() if label in theirs}
    if not common:
        raise TussleError(
            f"{first.folder} and {second.folder} have no point in common: {_named(mine)} here, "
            f"{_named(theirs)} there; compare datasets whose axes have the same values"
        )
    left_over = [
        f"not the same: only {dataset.folder} has {_named(label for label in points if label not in common)}"
        for dataset, points in ((first, mine), (second, theirs))
        if points.keys() - common.keys()
    ]
    return Matched(first, second, common, left_over)


def _points(dataset: Dataset) -> dict[str, int]:
    """Return the points by their axes in words."""
    axes = axis_columns(dataset)
    rows = dataset.runs.select("point", *axes).unique().sort("point").collect()
    if rows.is_empty():
        raise TussleError(f"{dataset.folder} has no runs, so that there is nothing to compare")
    return {
        ", ".join(f"{axis} = {row[axis]}" for axis in axes) or _ONLY: row["point"]
        for row in rows.iter_rows(named=True)
    }


def _named(labels: Iterable[str]) -> str:
    labels = list(labels)
    rest = len(labels) - _MOST_NAMED
    return "; ".join(labels[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
