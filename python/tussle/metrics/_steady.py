"""Rows of the bottleneck within the steady interval, with the time that each covers."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Tables
from tussle.scenario.bottleneck import BOTTLENECK

INSTANT_S = 5e-10
"""Half of the shortest difference of two times, 1 ns, so that equal times compare as equal."""

PACKET_BITS = 1500 * 8
"""A full data packet on the wire: the queue in front of a bottleneck is nearly all of these."""


def steady_bottleneck(tables: Tables) -> pl.LazyFrame:
    """Rows of `links` for the bottleneck whose interval lies in the steady interval, with `interval_s`.

    A row covers the time since the row before it, and there is always a row at the start of the steady
    interval, so that the returned intervals fill it exactly.
    """
    runs = tables.runs.select("run", "steady_from_s", "steady_to_s", "link_rate_bit_per_s")
    return (
        tables.links.filter(pl.col("link") == BOTTLENECK)
        .join(runs, on="run")
        .sort("run", "time_s")
        .with_columns(pl.col("time_s").diff().over("run").fill_null(pl.col("time_s")).alias("interval_s"))
        .filter(
            pl.col("time_s") > pl.col("steady_from_s") + INSTANT_S,
            pl.col("time_s") <= pl.col("steady_to_s") + INSTANT_S,
        )
    )


def mean_over_time(column: str) -> pl.Expr:
    """Mean of a column weighted by `interval_s`, over the rows with a value; null where there are none."""
    known_s = pl.col("interval_s").filter(pl.col(column).is_not_null()).sum()
    return pl.when(known_s > 0).then((pl.col(column) * pl.col("interval_s")).sum() / known_s)
