"""Rows of the bottleneck that lie in the steady interval, with the time each stands for."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Tables

BOTTLENECK = "bottleneck"
"""The name that scenarios give to the link they compare algorithms on."""

_INSTANT_S = 5e-10
"""Half of the shortest difference of two times, 1 ns, so that equal times compare as equal."""


def steady_bottleneck(tables: Tables) -> pl.LazyFrame:
    """Rows of `links` for the bottleneck whose interval lies in the steady interval, with `interval_s`.

    A row speaks for the time since the row before it, and there is always a row at the start of the
    steady interval; so the intervals given fill it exactly.
    """
    runs = tables.runs.select("run", "steady_from_s", "steady_to_s", "link_rate_bit_per_s")
    return (
        tables.links.filter(pl.col("link") == BOTTLENECK)
        .join(runs, on="run")
        .sort("run", "time_s")
        .with_columns(pl.col("time_s").diff().over("run").fill_null(pl.col("time_s")).alias("interval_s"))
        .filter(
            pl.col("time_s") > pl.col("steady_from_s") + _INSTANT_S,
            pl.col("time_s") <= pl.col("steady_to_s") + _INSTANT_S,
        )
    )
