"""Verdicts on pairs of flows, for every metric that asks who can share."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Tables
from tussle.metrics._pairs import pairs
from tussle.metrics._shares import shares

THRESHOLD = 0.43
"""The smaller share from which on two flows are said to co-exist.

The study that asked the question gives no rule; its text calls 46/57 and 45/58 Mbit/s co-existence
(smaller shares 0.45 and 0.44) and 41/62 none (0.40).
"""

COEXIST = "co-exist"
DO_NOT = "do not"
DEPENDS = "depends on the order"


def verdicts(tables: Tables) -> pl.DataFrame:
    """`point, first, second, slice, smaller_share, verdict, verdict_both_orders`.

    `verdict` is of this order; `verdict_both_orders` compares it with the point in which the same two
    start in the other order, and is null where there is none. Empty where the runs are not pairs.
    """
    smaller = (
        shares(tables)
        .group_by("run")
        .agg(pl.col("share").min())
        .join(tables.runs.select("run", "point").collect(), on="run")
        .group_by("point")
        .agg(pl.col("share").median().alias("smaller_share"))
    )
    verdict = pl.when(pl.col("smaller_share") >= THRESHOLD).then(pl.lit(COEXIST)).otherwise(pl.lit(DO_NOT))
    ordered = (
        pairs(tables)
        .join(smaller, on="point")
        .with_columns(pl.when(pl.col("smaller_share").is_not_null()).then(verdict).alias("verdict"))
    )
    other = ordered.group_by("first", "second", "slice").agg(pl.col("verdict").first().alias("verdict_other"))
    both = (
        pl.when(pl.col("verdict") == pl.col("verdict_other"))
        .then(pl.col("verdict"))
        .otherwise(pl.lit(DEPENDS))
    )
    return (
        ordered.join(
            other, left_on=["first", "second", "slice"], right_on=["second", "first", "slice"], how="left"
        )
        .with_columns(
            pl.when(pl.col("verdict").is_not_null() & pl.col("verdict_other").is_not_null())
            .then(both)
            .alias("verdict_both_orders")
        )
        .drop("verdict_other")
        .sort("point")
    )
