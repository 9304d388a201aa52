"""The largest differences that the engines may have, and the cells that exceed them."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from tussle.agreement._cells import ONE_WITHOUT_LOSS
from tussle.catalog import groups

BOUNDED = groups()["linux13"].algorithms
"""The algorithms that the bounds apply to. The others are shown without bounds."""
_ALONE = ("one", ONE_WITHOUT_LOSS)
_PAIRS = ("two", "joins-reno", "joins-cubic")


@dataclass(frozen=True)
class Bound:
    """The largest differences of a quantity over all cells of some arrangements."""

    quantity: str
    words: str
    arrangements: tuple[str, ...]
    median: float
    """Limit of the median of the absolute differences, in the unit of differences."""
    p95: float | None = None
    """Limit of their 95th percentile."""

    @property
    def of_a_cell(self) -> float:
        """The difference above which a cell is listed."""
        return self.median if self.p95 is None else self.p95


BOUNDS = (
    Bound("goodput_mbit_per_s", "goodput of one flow", _ALONE, 0.01, 0.05),
    Bound("share_percent", "share of a pair", _PAIRS, 3.0, 10.0),
    Bound("retransmitted_packets", "retransmitted packets", (*_ALONE, *_PAIRS, "four"), 0.15),
    Bound("rtt_mean_ms", "mean RTT", (*_ALONE, *_PAIRS, "four"), 0.03),
)


class Sizes(NamedTuple):
    """Absolute differences over cells; `None` without cells."""

    median: float | None
    p95: float | None

    def are_within(self, bound: Bound) -> bool:
        """Whether no limit is exceeded."""
        pairs = [(self.median, bound.median), (self.p95, bound.p95)]
        return all(found is None or most is None or found <= most for found, most in pairs)


@dataclass(frozen=True)
class Verdict:
    """Whether a bound holds, with the differences found."""

    bound: Bound
    cells: int
    found: Sizes
    """The differences as they are."""
    shown: Sizes
    """The differences that randomness does not explain: each at the end of its interval nearest to 0."""

    @property
    def answer(self) -> Literal["yes", "no", "undecided"]:
        """Whether the bound holds; undecided if randomness may explain the excess."""
        if self.found.are_within(self.bound):
            return "yes"
        return "undecided" if self.shown.are_within(self.bound) else "no"


def assess(found: pl.DataFrame) -> list[Verdict]:
    """Return the verdict on each bound from differences with a column `algorithm`; only `BOUNDED` count."""
    verdicts = []
    for bound in BOUNDS:
        rows = rows_of(found, bound)
        holds_zero = (pl.col("low") <= 0) & (pl.col("high") >= 0)
        nearest = pl.min_horizontal(pl.col("low").abs(), pl.col("high").abs())
        shown = pl.when(holds_zero).then(0.0).otherwise(nearest).fill_null(pl.col("difference").abs())
        sizes = rows.select(found=pl.col("difference").abs(), shown=shown)
        verdicts.append(Verdict(bound, rows.height, _sizes(sizes["found"]), _sizes(sizes["shown"])))
    return verdicts


def rows_of(found: pl.DataFrame, bound: Bound) -> pl.DataFrame:
    """Return the rows of `found` that a bound is about: its quantity and arrangements, and `BOUNDED`."""
    return _of(found.filter(pl.col("algorithm").is_in(BOUNDED)), bound)


def _sizes(sizes: pl.Series) -> Sizes:
    if not sizes.len():
        return Sizes(None, None)
    return Sizes(_number(sizes.median()), _number(sizes.quantile(0.95, "linear")))


def outside(found: pl.DataFrame) -> pl.DataFrame:
    """Return the rows of `found` that exceed a bound's limit for a cell, the largest of each first."""
    frames = [
        _of(found, bound)
        .filter(pl.col("difference").abs() > bound.of_a_cell)
        .with_columns(bound=pl.lit(bound.words), allowed=bound.of_a_cell)
        .sort(pl.col("difference").abs(), descending=True)
        for bound in BOUNDS
    ]
    return pl.concat(frames)


def scores(found: pl.DataFrame) -> pl.DataFrame:
    """Return `algorithm, score`: the percentage of its differences within the limits for a cell."""
    parts = [
        _of(found, bound).select("algorithm", within=pl.col("difference").abs() <= bound.of_a_cell)
        for bound in BOUNDS
    ]
    within = (100 * pl.col("within").mean()).alias("score")
    return pl.concat(parts).group_by("algorithm").agg(within).sort("algorithm")


def _of(found: pl.DataFrame, bound: Bound) -> pl.DataFrame:
    return found.filter(pl.col("quantity") == bound.quantity, pl.col("arrangement").is_in(bound.arrangements))


def _number(value: object) -> float | None:
    return float(value) if isinstance(value, (int, float)) else None
