"""Verdicts on pairs: whether both sides share fairly, and how certain that is."""

from __future__ import annotations

import math
from functools import lru_cache

import polars as pl

from tussle.metrics._metric import Tables
from tussle.metrics._over_time import halves_of_steady_interval, has_series
from tussle.metrics._pairs import pair_runs, pairs, side_means, sides

THRESHOLD = 0.43
"""The least share of the smaller flow with which two flows share fairly.

The threshold is fitted to a study that gives no rule: its text counts 46/57 and 45/58 Mbit/s (smaller
shares 0.45 and 0.44) as coexistence, and 41/62 (0.40) not.
"""
MARGIN = 0.05
"""Least distance of every run from the threshold where runs are too few for an interval; chosen."""
DRIFT = 0.1
"""The largest change of the smaller share between the halves of the steady interval that is ignored."""

YES = "yes"
NO = "no"
UNCLEAR = "unclear"
DEPENDS = "depends on the order"

NOT_CONVERGED = "not converged"
SPREAD = "spread"
TOO_FEW = "too few runs"

_CONFIDENCE = 0.95


@lru_cache(maxsize=2)
def verdicts(tables: Tables) -> pl.DataFrame:
    """Return the verdict on each pair, and the reason of an unclear one.

    `point, first, second, slice, first_flows, second_flows, runs, smaller_share, smaller_share_low,
    smaller_share_high, smaller_share_late, smaller_share_drift, verdict, reason, verdict_both_orders`.
    `smaller_share` is min(x1, x2) / (x1 + x2) of the mean goodputs per flow of each side, the median over
    the repetitions; `_low` and `_high` are its 95 % interval, or its range where runs are too few for one;
    `_late` is the smaller share in the second half of the steady interval, and `_drift` is its change from
    the first half to the second; both are null without time series. `verdict` is of this order;
    `verdict_both_orders` compares it with the point in which the same two start in the other order, and is
    null where there is none. The table is empty where the runs are not pairs.
    """
    ordered = pairs(tables).join(_smaller_shares(tables), on="point", how="left")
    decided = [_decide(row) for row in ordered.iter_rows(named=True)]
    found = pl.DataFrame(decided, schema={"verdict": pl.String, "reason": pl.String}, orient="row")
    ordered = pl.concat([ordered.drop("is_interval"), found], how="horizontal")
    other = ordered.group_by("first", "second", "slice").agg(pl.col("verdict").first().alias("verdict_other"))
    keys, swapped = ["first", "second", "slice"], ["second", "first", "slice"]
    return (
        ordered.join(other, left_on=keys, right_on=swapped, how="left")
        .with_columns(_of_both_orders().alias("verdict_both_orders"))
        .drop("verdict_other")
        .sort("point")
    )


def order_statistics_interval(values: list[float]) -> tuple[float, float, bool]:
    """Return a 95 % interval of the median by order statistics, and whether there is one.

    Fewer than six values have no such interval: the range of five contains the median in 94 % of cases at
    most. Their range is returned. (Conover, Practical nonparametric statistics, 1999, section 3.2.)

    >>> order_statistics_interval([1, 2, 3, 4, 5])
    (1, 5, False)
    >>> order_statistics_interval([1, 2, 3, 4, 5, 6, 7, 8, 9, 10])  # 1 - 2 (1 + 10) / 2^10 = 0.979
    (2, 9, True)
    """
    ordered, count = sorted(values), len(values)
    outside, rank = 0.5**count, 0
    while 2 * outside <= 1 - _CONFIDENCE and rank < count // 2:
        rank += 1
        outside += math.comb(count, rank) * 0.5**count
    place = max(rank - 1, 0)
    return ordered[place], ordered[count - 1 - place], rank > 0


def _smaller_shares(tables: Tables) -> pl.DataFrame:
    """Return `point, runs` and the smaller share: its median, its interval, and its drift."""
    total = pl.col("first_bit_per_s") + pl.col("second_bit_per_s")
    first = pl.when(total > 0).then(pl.col("first_bit_per_s") / total)
    second = pl.when(total > 0).then(pl.col("second_bit_per_s") / total)
    smaller = (
        pair_runs(tables)
        .select(
            "run",
            pl.min_horizontal(first, second).alias("share"),
            pl.when(second < first).then(1).otherwise(0).cast(pl.UInt32).alias("side"),
        )
        .drop_nulls()
    )
    of_runs = smaller.join(_in_halves(tables), on=["run", "side"], how="left")
    late = pl.min_horizontal("second_share", 1 - pl.col("second_share"))
    of_points = (
        of_runs.join(tables.runs.select("run", "point").collect(), on="run")
        .group_by("point")
        .agg(
            pl.len().alias("runs"),
            pl.col("share").median().alias("smaller_share"),
            pl.col("share").alias("shares"),
            late.median().alias("smaller_share_late"),
            (pl.col("second_share") - pl.col("first_share")).median().alias("smaller_share_drift"),
        )
        .sort("point")
    )
    intervals = [order_statistics_interval(each.to_list()) for each in of_points["shares"]]
    ends = pl.DataFrame(
        [(low, high, sure) for low, high, sure in intervals],
        schema={"smaller_share_low": pl.Float64, "smaller_share_high": pl.Float64, "is_interval": pl.Boolean},
        orient="row",
    )
    return pl.concat([of_points.drop("shares"), ends], how="horizontal")


def _in_halves(tables: Tables) -> pl.DataFrame:
    """Return `run, side, first_share, second_share` of the halves of the steady interval."""
    if not has_series(tables.samples):
        return pl.DataFrame(
            schema={
                "run": pl.UInt32,
                "side": pl.UInt32,
                "first_share": pl.Float64,
                "second_share": pl.Float64,
            }
        )
    halves = side_means(halves_of_steady_interval(tables), sides(tables))
    part = [
        (pl.col(f"{half}_bit_per_s") / pl.col(f"{half}_bit_per_s").sum().over("run")).alias(f"{half}_share")
        for half in ("first", "second")
    ]
    return halves.select("run", "side", *part).fill_nan(None)


def _decide(pair: dict) -> tuple[str | None, str | None]:
    """Return the verdict on a pair, and the reason if it is unclear."""
    share, low, high = (pair[f"smaller_share{part}"] for part in ("", "_low", "_high"))
    if share is None:
        return None, None
    verdict = YES if share >= THRESHOLD else NO
    if _is_moving(pair, verdict):
        return UNCLEAR, NOT_CONVERGED
    margin, reason = (0.0, SPREAD) if pair["is_interval"] else (MARGIN, TOO_FEW)
    is_clear = low >= THRESHOLD + margin if verdict == YES else high < THRESHOLD - margin
    return (verdict, None) if is_clear else (UNCLEAR, reason)


def _is_moving(pair: dict, verdict: str) -> bool:
    """Return whether the share drifts towards the other verdict, or has reached it in the second half."""
    drift, late = pair["smaller_share_drift"], pair["smaller_share_late"]
    if drift is None:
        return False
    if verdict == YES:
        return late < THRESHOLD
    return drift > DRIFT or late >= THRESHOLD


def _of_both_orders() -> pl.Expr:
    """Return the verdict of both orders if they are equal; unclear if either is unclear."""
    mine, other = pl.col("verdict"), pl.col("verdict_other")
    is_known = mine.is_not_null() & other.is_not_null()
    return (
        pl.when(~is_known)
        .then(None)
        .when(mine == other)
        .then(mine)
        .when((mine == UNCLEAR) | (other == UNCLEAR))
        .then(pl.lit(UNCLEAR))
        .otherwise(pl.lit(DEPENDS))
    )
