"""How long flows take to fill the bottleneck."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import BOTTLENECK

_FULL = 0.95


def compute(tables: Tables) -> pl.DataFrame:
    """`run, full_use_s`; null where the link was never full."""
    require_series(tables.links, "time_to_full_use")
    starts = tables.flows.group_by("run").agg(pl.col("start_s").min())
    time_s = pl.col("time_s").filter(pl.col("utilisation") >= _FULL).min()
    return (
        tables.links.filter(pl.col("link") == BOTTLENECK)
        .join(starts, on="run")
        .group_by("run")
        .agg((time_s - pl.col("start_s").first()).alias("full_use_s"))
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="time_to_full_use",
    unit="s",
    definition="The time from the first flow's start to the end of the first row of `links` over whose "
    f"interval the bottleneck was sending at least {_FULL:.0%} of the time. As fine as the sampling.",
    source="after RFC 5166, section 2.2.1 (response to changes); the threshold is chosen",
    better="lower",
    per=("run",),
    compute=compute,
)
