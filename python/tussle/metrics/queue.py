"""Occupancy of the bottleneck's queue."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._steady import PACKET_BITS, mean_over_time, steady_bottleneck


def compute(tables: Tables) -> pl.DataFrame:
    """`run, queue_mean_packets, queue_max_packets, queue_mean_ms, queue_max_ms` of the steady interval."""
    rate = pl.col("link_rate_bit_per_s").first()
    return (
        steady_bottleneck(tables)
        .group_by("run", maintain_order=True)
        .agg(
            mean_over_time("mean_backlog_packets").alias("queue_mean_packets"),
            pl.col("max_backlog_packets").max().cast(pl.Float64).alias("queue_max_packets"),
            (PACKET_BITS * 1e3 / rate).alias("packet_ms"),
        )
        .select(
            "run",
            "queue_mean_packets",
            "queue_max_packets",
            (pl.col("queue_mean_packets") * pl.col("packet_ms")).alias("queue_mean_ms"),
            (pl.col("queue_max_packets") * pl.col("packet_ms")).alias("queue_max_ms"),
        )
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="queue",
    unit="packets, ms",
    definition="Packets waiting at the bottleneck in the steady interval: the mean weighted by time, "
    "Σ(backlog · Δt) / Σ Δt, and the largest; in ms: the transmission time of that number of 1500-byte "
    "packets at the link's rate, 12000 · packets / rate.",
    source="RFC 5166, section 2.1.2 (queueing delay)",
    better="lower",
    per=("run",),
    compute=compute,
)
