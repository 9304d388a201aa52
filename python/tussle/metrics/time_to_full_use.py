"""Time until the flows fill the bottleneck."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import INSTANT_S, mean_over_time
from tussle.scenario.bottleneck import BOTTLENECK

_FULL = 0.95
_WINDOW_S = 0.1
"""Window of the mean, so that a row of one or two packets (sampling of every change) does not count alone."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, full_use_s`; null where the link was never full."""
    require_series(tables.links, "time_to_full_use")
    starts = tables.flows.group_by("run").agg(pl.col("start_s").min())
    time_s = pl.col("time_s")
    window = ((time_s - INSTANT_S) / _WINDOW_S).floor().alias("window")
    full_s = time_s.filter(pl.col("busy") >= _FULL).min()
    return (
        tables.links.filter(pl.col("link") == BOTTLENECK)
        .sort("run", "time_s")
        .with_columns(time_s.diff().over("run").fill_null(time_s).alias("interval_s"), window)
        .group_by("run", "window")
        .agg(time_s.max(), mean_over_time("utilisation").alias("busy"))
        .join(starts, on="run")
        .group_by("run")
        .agg((full_s - pl.col("start_s").first()).alias("full_use_s"))
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="time_to_full_use",
    unit="s",
    definition="The time from the first flow's start to the end of the first tenth of a second in which "
    f"the bottleneck was sending for at least {_FULL * 100:g}\u00a0% of the time. With less frequent "
    "sampling, to the first such row of `links`.",
    source="after RFC 5166, section 2.2 (response to changes); the threshold is chosen",
    better="lower",
    per=("run",),
    compute=compute,
)
