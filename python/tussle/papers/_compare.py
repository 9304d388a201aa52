"""A published table beside Tussle's numbers, cell by cell."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

import numpy as np
import polars as pl

from tussle.errors import TussleError
from tussle.metrics import Tables, axis_columns
from tussle.papers._cells import cells
from tussle.papers._study import Column, Part, Study, Table, Verdict, is_key

CONFIDENCE = 0.95
_LEAST = 2
"""Number of runs that an interval of the mean needs."""
PAIR = ("flows.0.algorithm", "flows.1.algorithm")
"""Keys of the algorithms of two flows."""
_OTHER_FLOWS = re.compile(r"flows\.[1-9]\d*\.")
DEPENDS = "depends on the order"

Datasets = Mapping[str, Tables]
"""Results of one engine, by part."""


@dataclass(frozen=True)
class Found:
    """Tussle's number for a cell: the mean over its runs."""

    mean: float
    low: float | None
    """Lower end of the 95 % interval of the mean (Student's t); `None` for one run."""
    high: float | None
    runs: int

    def difference(self, published: float) -> float | None:
        """Difference from the published number, as a fraction of it; `None` if the published number is 0."""
        return (self.mean - published) / published if published else None


@dataclass(frozen=True)
class Row:
    """A row of a published table, and Tussle's numbers for it."""

    part: str
    keys: dict[str, str]
    published: dict[str, float]
    """Published numbers by the name of their column; unpublished ones are missing."""
    found: dict[str, dict[str, Found]]
    """Tussle's numbers by engine, then by the name of their column."""
    verdict: str | None
    verdicts: dict[str, str]
    """Verdict of Tussle's numbers, by engine."""

    @property
    def words(self) -> str:
        """The values of the row's keys, which identify it for readers."""
        return ", ".join(self.keys.values())

    def largest_difference(self, engine: str) -> float:
        """Return the largest difference from a published number, as a fraction of that number."""
        found = self.found.get(engine, {})
        sizes = [
            difference
            for name, published in self.published.items()
            if name in found and (difference := found[name].difference(published)) is not None
        ]
        return max(map(abs, sizes), default=0.0)


def rows(study: Study, table: Table, engines: Mapping[str, Datasets]) -> list[Row]:
    """Return each row of a published table with Tussle's numbers; `found` lacks what was not run."""
    printed = _printed(study, table)
    needed = {row["part"] for row in printed}
    ours = {
        engine: {
            part: _by_keys(table.columns, tables, _axes(study.parts[part], tables))
            for part, tables in datasets.items()
            if part in needed
        }
        for engine, datasets in engines.items()
    }
    return [_row(row, table, ours) for row in printed]


def swept(study: Study, part: str, engine: Datasets) -> dict[str, dict[str, list[Row]]]:
    """Compare a part that sweeps an unknown setting with the published rows of the part that it is like.

    The rows are by the value of the sweep, then by table. Tables without a row of that part are left out.
    """
    sweep, tables = study.parts[part], engine[part]
    axis, like = str(sweep.sweeps), str(sweep.like)
    found: dict[str, dict[str, list[Row]]] = {
        value: {} for value in tables.runs.select(axis).collect()[axis].unique(maintain_order=True)
    }
    for table in study.tables:
        printed = [row for row in _printed(study, table) if row["part"] == like]
        if not printed:
            continue
        every = _by_keys(table.columns, tables, (axis, *_axes(sweep, tables)))
        for value, compared in found.items():
            ours = {"": {like: every.at(value)}}
            known = [row for each in printed if (row := _row(each, table, ours)).found]
            if known:
                compared[table.name] = known
    return {value: compared for value, compared in found.items() if compared}


class Point(NamedTuple):
    """A point of a part, and its numbers by column."""

    axes: dict[str, str]
    found: dict[str, Found]

    @property
    def words(self) -> str:
        """The values of the axes."""
        return ", ".join(self.axes.values())


def numbers(part: Part, tables: Tables) -> list[Point]:
    """Return each point of a part, also of the setting that it sweeps, with its numbers."""
    ours = _by_keys(part.numbers, tables, _points(part, tables))
    keys = dict.fromkeys(key for values in ours.columns.values() for key in values)
    return [
        Point(
            dict(zip(ours.axes, key, strict=True)),
            {name: _found(values[key]) for name, values in ours.columns.items() if key in values},
        )
        for key in keys
    ]


def both_orders(compared: Iterable[Row], engine: str) -> list[tuple[str, str, str]]:
    """Return `pair, published, found`: verdicts on two algorithms over both orders of their start.

    The list is empty for tables without pairs in both orders.
    """
    by_pair = {
        (row.keys[PAIR[0]], row.keys[PAIR[1]]): (row.verdict, row.verdicts[engine])
        for row in compared
        if set(row.keys) == set(PAIR) and row.verdict and engine in row.verdicts
    }
    return [
        (
            f"{first} and {second}",
            _together(by_pair[first, second][0], by_pair[second, first][0]),
            _together(by_pair[first, second][1], by_pair[second, first][1]),
        )
        for first, second in by_pair
        if first < second and (second, first) in by_pair
    ]


def interval_of_mean(found: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of the mean of the population that values are samples of, by Student's t.

    >>> interval_of_mean([1.0]), interval_of_mean([2.0, 2.0])
    ((None, None), (2.0, 2.0))
    """
    if len(found) < _LEAST:
        return None, None
    from scipy.stats import t

    sample = np.asarray(found, dtype=float)
    reach = float(t.ppf((1 + CONFIDENCE) / 2, sample.size - 1)) * float(sample.std(ddof=1)) / sample.size**0.5
    return float(sample.mean()) - reach, float(sample.mean()) + reach


def _printed(study: Study, table: Table) -> list[dict[str, Any]]:
    published = study.published()
    return published.filter(pl.col("table") == table.name).to_dicts()


class _Ours(NamedTuple):
    """Numbers of a part, by the values of its axes."""

    axes: tuple[str, ...]
    columns: dict[str, dict[tuple[str, ...], list[float]]]

    def at(self, value: str) -> _Ours:
        """Return the numbers at a value of the first axis."""
        return _Ours(
            self.axes[1:],
            {
                name: {key[1:]: values for key, values in column.items() if key[0] == value}
                for name, column in self.columns.items()
            },
        )


def _points(part: Part, tables: Tables) -> tuple[str, ...]:
    """Return the axes that distinguish points."""
    return tuple(axis for axis in axis_columns(tables) if not (part.alike and _OTHER_FLOWS.match(axis)))


def _axes(part: Part, tables: Tables) -> tuple[str, ...]:
    """Return the axes that distinguish points, except the swept one."""
    axes = _points(part, tables)
    if part.sweeps:
        # The key of another flow has the same value.
        axes = tuple(axis for axis in axes if axis.rpartition(".")[2] != part.sweeps.rpartition(".")[2])
    return axes


def _by_keys(columns: Sequence[Column], tables: Tables, axes: tuple[str, ...]) -> _Ours:
    """Collect the values of each column by the axes; columns that the engine cannot measure are empty."""
    found = {}
    for column in columns:
        try:
            frame = cells(tables, column).drop_nulls("value")
        except TussleError:
            found[column.name] = {}
            continue
        grouped: dict[tuple[str, ...], list[float]] = {}
        for *key, value in frame.select(*axes, "value").iter_rows():
            grouped.setdefault(tuple(key), []).append(value)
        found[column.name] = grouped
    return _Ours(axes, found)


def _row(printed: Mapping[str, Any], table: Table, ours: Mapping[str, Mapping[str, _Ours]]) -> Row:
    keys = {name: value for name, value in printed.items() if is_key(name) and value}
    published = {
        column.name: printed[column.name] for column in table.columns if printed[column.name] is not None
    }
    found, verdicts = {}, {}
    for engine, parts in ours.items():
        chosen = parts.get(printed["part"])
        if chosen is None or set(chosen.axes) != set(keys):
            continue
        key = tuple(keys[axis] for axis in chosen.axes)
        lists = {name: each[key] for name, each in chosen.columns.items() if each.get(key)}
        if lists:
            found[engine] = {name: _found(values) for name, values in lists.items()}
        if table.verdict and (word := _verdict(table.verdict, lists)):
            verdicts[engine] = word
    theirs = {name: [value] for name, value in published.items()}
    word = _verdict(table.verdict, theirs) if table.verdict else None
    return Row(printed["part"], keys, published, found, word, verdicts)


def _found(values: Sequence[float]) -> Found:
    return Found(float(np.mean(values)), *interval_of_mean(values), len(values))


def _verdict(rule: Verdict, lists: Mapping[str, Sequence[float]]) -> str | None:
    """Apply a rule to the median over the runs."""
    if any(name not in lists for name in rule.columns):
        return None
    if len(rule.columns) == 1:
        values = list(lists[rule.columns[0]])
    else:
        both = zip(*(lists[name] for name in rule.columns), strict=True)
        values = [min(each) / sum(each) for each in both if sum(each)]
    if not values:
        return None
    return rule.yes if float(np.median(values)) >= rule.at_least else rule.no


def _together(one: str | None, other: str | None) -> str:
    return str(one) if one == other else DEPENDS
