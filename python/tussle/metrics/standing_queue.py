"""The part of the bottleneck's queue that never drains."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import INSTANT_S, PACKET_BITS, steady_bottleneck

_WINDOW_S = 1.0
_LEAST_ROWS = 5
"""Least number of rows in a window: the minimum of one or two rows is not meaningful."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, standing_queue_packets, standing_queue_ms`, of the steady interval."""
    require_series(tables.links, "standing_queue")
    length_s = pl.col("steady_to_s") - pl.col("steady_from_s")
    longest_s = pl.col("interval_s").max().over("run")
    # No longer than the steady interval, which is then one window.
    window_s = pl.min_horizontal(pl.max_horizontal(pl.lit(_WINDOW_S), longest_s * _LEAST_ROWS), length_s)
    since_s = pl.col("time_s") - pl.col("steady_from_s") - INSTANT_S
    packet_ms = PACKET_BITS * 1e3 / pl.col("link_rate_bit_per_s").first()
    return (
        steady_bottleneck(tables)
        .with_columns(window_s.alias("window_s"))
        .with_columns((since_s / pl.col("window_s")).floor().cast(pl.Int64).alias("window"))
        .filter((pl.col("window") + 1) * pl.col("window_s") <= length_s + INSTANT_S)
        .group_by("run", "window")
        .agg(pl.col("backlog_packets").min(), packet_ms.alias("packet_ms"))
        .group_by("run")
        .agg(pl.col("backlog_packets").mean().alias("standing_queue_packets"), pl.col("packet_ms").first())
        .select(
            "run",
            "standing_queue_packets",
            (pl.col("standing_queue_packets") * pl.col("packet_ms")).alias("standing_queue_ms"),
        )
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="standing_queue",
    unit="packets, ms",
    definition="Mean, over consecutive windows of 1 s of the steady interval, of the smallest backlog "
    "in each: the packets that never drain. Windows have at least five rows of `links`; the last one, "
    "if cut short, does not count. In ms: the transmission time of that number of 1500-byte packets at the "
    "link's rate.",
    source="Nichols and Jacobson, Controlling queue delay, ACM Queue 10(5), 2012 (the local minimum "
    "distinguishes a standing queue from a transient one); the window is chosen",
    better="lower",
    per=("run",),
    compute=compute,
)
