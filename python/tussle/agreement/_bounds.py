"""How near the engines have to be, and where they are not."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from tussle.agreement._cells import ONE_WITHOUT_LOSS
from tussle.catalog import groups

BOUNDED = groups()["linux13"].algorithms
"""The algorithms that the bounds are for; what is found of others is shown beside."""
_ALONE = ("one", ONE_WITHOUT_LOSS)
_PAIRS = ("two", "joins-reno", "joins-cubic")


@dataclass(frozen=True)
class Bound:
    """How far apart the engines may be in a quantity, over all cells of some arrangements."""

    quantity: str
    words: str
    arrangements: tuple[str, ...]
    median: float
    """Most that the median of the differences may be, without their signs; in the unit of differences."""
    p95: float | None = None
    """Most that their 95th percentile may be."""

    @property
    def of_a_cell(self) -> float:
        """A cell that differs by more is listed."""
        return self.median if self.p95 is None else self.p95


BOUNDS = (
    Bound("goodput_mbit_per_s", "goodput of one flow", _ALONE, 0.01, 0.05),
    Bound("share_percent", "share of a pair", _PAIRS, 3.0, 10.0),
    Bound("retransmitted_packets", "retransmitted packets", (*_ALONE, *_PAIRS, "four"), 0.15),
    Bound("rtt_mean_ms", "mean RTT", (*_ALONE, *_PAIRS, "four"), 0.03),
)


class Sizes(NamedTuple):
    """Differences over cells, without their signs; `None` without cells."""

    median: float | None
    p95: float | None

    def are_within(self, bound: Bound) -> bool:
        """Whether no limit is exceeded."""
        pairs = [(self.median, bound.median), (self.p95, bound.p95)]
        return all(found is None or most is None or found <= most for found, most in pairs)


@dataclass(frozen=True)
class Verdict:
    """What came out for a bound."""

    bound: Bound
    cells: int
    found: Sizes
    """Of the differences as they are."""
    shown: Sizes
    """Of what of them the dice do not explain: each taken at the end of its interval that is nearest to 0."""

    @property
    def answer(self) -> Literal["yes", "no", "undecided"]:
        """Whether the bound holds; undecided, if it is exceeded by no more than the dice may make."""
        if self.found.are_within(self.bound):
            return "yes"
        return "undecided" if self.shown.are_within(self.bound) else "no"


def judge(found: pl.DataFrame) -> list[Verdict]:
    """Judge differences that have a column `algorithm`; only those of `BOUNDED` count."""
    verdicts = []
    for bound in BOUNDS:
        rows = _of(found.filter(pl.col("algorithm").is_in(BOUNDED)), bound)
        holds_zero = (pl.col("low") <= 0) & (pl.col("high") >= 0)
        nearest = pl.min_horizontal(pl.col("low").abs(), pl.col("high").abs())
        shown = pl.when(holds_zero).then(0.0).otherwise(nearest).fill_null(pl.col("difference").abs())
        sizes = rows.select(found=pl.col("difference").abs(), shown=shown)
        verdicts.append(Verdict(bound, rows.height, _sizes(sizes["found"]), _sizes(sizes["shown"])))
    return verdicts


def _sizes(sizes: pl.Series) -> Sizes:
    if not sizes.len():
        return Sizes(None, None)
    return Sizes(_number(sizes.median()), _number(sizes.quantile(0.95, "linear")))


def outside(found: pl.DataFrame) -> pl.DataFrame:
    """Give the rows of `found` that differ by more than a bound has for a cell, the worst of each first."""
    frames = [
        _of(found, bound)
        .filter(pl.col("difference").abs() > bound.of_a_cell)
        .with_columns(bound=pl.lit(bound.words), allowed=bound.of_a_cell)
        .sort(pl.col("difference").abs(), descending=True)
        for bound in BOUNDS
    ]
    return pl.concat(frames)


def scores(found: pl.DataFrame) -> pl.DataFrame:
    """Give `algorithm, score`: how many of its differences lie within what bounds have for a cell, in %."""
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
