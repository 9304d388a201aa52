"""Agreement of a table with the published one: ranks, differences and verdicts."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Iterable, Sequence
from typing import NamedTuple

import numpy as np

from tussle.papers._compare import PAIR, Row
from tussle.papers._study import Column, Table

_LEAST_RANKS = 3


class Score(NamedTuple):
    """Agreement of a table with the published one."""

    cells: int
    spearman: dict[str, float | None]
    """Rank correlation of each column over all rows; `None` for fewer than three cells, or equal ones."""
    within: dict[str, float | None]
    """Rank correlation of each column within the rows of one condition, the median over the conditions;
    empty for a table of a single condition."""
    verdicts: Verdicts | None
    """`None` without a verdict on either side."""
    median_difference: float | None
    """Median of the absolute differences, as a fraction of the published numbers."""

    @property
    def mean_rank(self) -> float | None:
        """Mean rank correlation of the columns, within one condition where there are several."""
        known = [each for each in (self.within or self.spearman).values() if each is not None]
        return sum(known) / len(known) if known else None


class Verdicts(NamedTuple):
    """Agreement of verdicts. A row of a mirrored table that is printed alike in both orders counts half."""

    rows: float
    agreeing: float
    baseline: float
    """Number of rows that agree with the verdict that is printed most often, given to every row."""
    kappa: float | None
    """Cohen's kappa: agreement beyond that of chance, 1 at best and 0 for chance; `None` if both sides have
    one verdict for all rows. J. Cohen, A coefficient of agreement for nominal scales, 1960."""


def score(table: Table, compared: Iterable[Row], engine: str) -> Score:
    """Return the agreement with a published table, over the rows that were run."""
    known = [row for row in compared if engine in row.found]
    by_column = {column.name: _both(known, column, engine) for column in table.columns}
    sizes = [abs((ours - theirs) / theirs) for each in by_column.values() for theirs, ours in each if theirs]
    return Score(
        sum(map(len, by_column.values())),
        {name: _spearman(each) for name, each in by_column.items()},
        _within(table, known, engine),
        _verdicts(table, known, engine),
        float(np.median(sizes)) if sizes and not table.ranks_only else None,
    )


def _within(table: Table, known: Sequence[Row], engine: str) -> dict[str, float | None]:
    conditions: dict[tuple[str, ...], list[Row]] = defaultdict(list)
    for row in known:
        conditions[row.part, *(row.keys.get(key, "") for key in table.condition)].append(row)
    if len(conditions) == 1:
        return {}
    found = {}
    for column in table.columns:
        ranks = [_spearman(_both(rows, column, engine)) for rows in conditions.values()]
        defined = [each for each in ranks if each is not None]
        found[column.name] = float(np.median(defined)) if defined else None
    return found


def _verdicts(table: Table, known: Sequence[Row], engine: str) -> Verdicts | None:
    weights = _weights(table, known)
    pairs: dict[tuple[str, str], float] = defaultdict(float)
    for row, weight in zip(known, weights, strict=True):
        if row.verdict and engine in row.verdicts:
            pairs[row.verdict, row.verdicts[engine]] += weight
    if not pairs:
        return None
    count, agreeing = sum(pairs.values()), sum(n for (one, other), n in pairs.items() if one == other)
    words = {word for pair in pairs for word in pair}
    printed = {word: sum(n for (one, _), n in pairs.items() if one == word) for word in words}
    ours = {word: sum(n for (_, other), n in pairs.items() if other == word) for word in words}
    by_chance = sum(printed[word] * ours[word] for word in words) / count**2
    kappa = (agreeing / count - by_chance) / (1 - by_chance) if by_chance < 1 else None
    return Verdicts(count, agreeing, max(printed.values()), kappa)


def _weights(table: Table, known: Sequence[Row]) -> list[float]:
    """Return 0.5 for rows of a mirrored table that are printed alike in both orders; otherwise 1."""
    if not table.mirrored:
        return [1.0] * len(known)
    printed = {_pair(row): tuple(row.published.values()) for row in known}
    return [
        0.5
        if _pair(row) != _pair(row)[::-1]
        and printed.get(_pair(row)[::-1]) == tuple(reversed(row.published.values()))
        else 1.0
        for row in known
    ]


def _pair(row: Row) -> tuple[str, ...]:
    return tuple(row.keys[key] for key in PAIR)


def _both(known: Iterable[Row], column: Column, engine: str) -> list[tuple[float, float]]:
    """Return the published number and Tussle's of each cell that has both."""
    return [
        (row.published[column.name], row.found[engine][column.name].mean)
        for row in known
        if column.name in row.published and column.name in row.found[engine]
    ]


def _spearman(both: Sequence[tuple[float, float]]) -> float | None:
    theirs, ours = {each[0] for each in both}, {each[1] for each in both}
    if len(both) < _LEAST_RANKS or min(len(theirs), len(ours)) == 1:
        return None
    from scipy.stats import spearmanr

    found = np.asarray(spearmanr([each[0] for each in both], [each[1] for each in both]))
    return float(found[0])
