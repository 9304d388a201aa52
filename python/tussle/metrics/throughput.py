"""Throughput of the bottleneck in the steady interval."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._steady import INSTANT_S
from tussle.scenario.bottleneck import BOTTLENECK


def compute(tables: Tables) -> pl.DataFrame:
    """`run, throughput_bit_per_s`."""
    bytes_, time_s = pl.col("delivered_bytes"), pl.col("time_s")
    before = bytes_.filter(time_s <= pl.col("steady_from_s") + INSTANT_S)
    by_the_end = bytes_.filter(time_s <= pl.col("steady_to_s") + INSTANT_S)
    # A link without a row yet has carried nothing; an empty cell is an unknown value.
    by_the_start = pl.when(before.len() == 0).then(0).otherwise(before.max())
    length_s = (pl.col("steady_to_s") - pl.col("steady_from_s")).first()
    throughput = 8 * (by_the_end.max() - by_the_start) / length_s
    return (
        tables.links.filter(pl.col("link") == BOTTLENECK)
        .join(tables.runs.select("run", "steady_from_s", "steady_to_s"), on="run")
        .group_by("run")
        .agg(throughput.alias("throughput_bit_per_s"))
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="throughput",
    unit="bit/s",
    definition="Bits that the bottleneck transmitted in the steady interval, over its length: "
    "8 · bytes / (to - from). IP headers, retransmissions and packets of all flows count.",
    source="RFC 5166, section 2.1.1 (throughput, measured at the router)",
    better="higher",
    per=("run",),
    compute=compute,
)
