"""The two sides of a comparison, and the points that both have."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.metrics import Tables, axis_columns, select_runs

_MOST_NAMED = 5
_ONLY = "the only point"
"""Name of a point where there is no axis."""


@dataclass(frozen=True)
class Side:
    """One side of a comparison: a dataset, or the runs of a dataset with one value of an axis."""

    name: str
    """Name in messages: a folder, or an axis with its value."""
    tables: Tables
    axes: tuple[str, ...]
    """The axes that distinguish its points."""
    value: str = ""
    """The value of the axis, if the side is a part of a dataset."""

    @classmethod
    def of(cls, dataset: Dataset) -> Side:
        """Return a dataset as a side."""
        return cls(str(dataset.folder), dataset, tuple(axis_columns(dataset)))


@dataclass(frozen=True)
class Matched:
    """Two sides and the points that both have."""

    first: Side
    second: Side
    points: dict[str, tuple[int, int]]
    """Index of a point in the first side and in the second, by its axes in words."""
    notes: list[str]
    """The points that only one of them has."""


def sides_along(tables: Tables, axis: str) -> list[Side]:
    """Return a side for each value of an axis, in the order of the points.

    Raises TussleError when there is no such axis, or it has one value.
    """
    axes = axis_columns(tables)
    if axis not in axes:
        raise TussleError(
            unknown("axis", axis, axes) if axes else f"there is no axis {axis}: the dataset has no axes"
        )
    runs = tables.runs.select("run", "point", axis).sort("point", "run").drop_nulls(axis).collect()
    others = tuple(other for other in axes if other != axis)
    sides = [
        Side(f"{axis} = {value}", select_runs(tables, found["run"].to_list()), others, str(value))
        for (value,), found in runs.group_by(axis, maintain_order=True)
    ]
    if len(sides) == 1:
        raise TussleError(f"{sides[0].name} is the only value of that axis; a comparison needs two")
    return sides


def match(first: Side, second: Side) -> Matched:
    """Find the points whose axes have the same values; raises TussleError when there are none."""
    mine, theirs = _points(first), _points(second)
    common = {label: (point, theirs[label]) for label, point in mine.items() if label in theirs}
    if not common:
        raise TussleError(
            f"{first.name} and {second.name} have no point in common: the first has {_named(mine)}, the "
            f"second {_named(theirs)}; compare datasets whose axes have the same values"
        )
    left_over = [
        f"not in both: only {side.name} has {_named(label for label in points if label not in common)}"
        for side, points in ((first, mine), (second, theirs))
        if points.keys() - common.keys()
    ]
    return Matched(first, second, common, left_over)


def _points(side: Side) -> dict[str, int]:
    """Return the points by their axes in words."""
    rows = side.tables.runs.select("point", *side.axes).unique().sort("point").collect()
    if rows.is_empty():
        raise TussleError(f"{side.name} has no runs to compare")
    return {
        ", ".join(f"{axis} = {row[axis]}" for axis in side.axes) or _ONLY: row["point"]
        for row in rows.iter_rows(named=True)
    }


def _named(labels: Iterable[str]) -> str:
    labels = list(labels)
    rest = len(labels) - _MOST_NAMED
    return "; ".join(labels[:_MOST_NAMED]) + (f"; and {rest} more" if rest > 0 else "")
