"""Round-trip times of a flow's packets."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables

_COLUMNS = ("min", "mean", "p05", "p25", "p50", "p75", "p95", "p99")


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, rtt_min_ms, rtt_mean_ms, rtt_p05_ms … rtt_p99_ms, rtt_spread_ms`; null without samples."""
    columns = [f"rtt_{column}_ms" for column in _COLUMNS]
    spread = pl.col("rtt_p95_ms") - pl.col("rtt_p05_ms")
    flows = tables.flows.select("run", "flow", *columns, spread.alias("rtt_spread_ms"))
    return flows.sort("run", "flow").collect()


METRIC = Metric(
    name="rtt",
    unit="ms",
    definition="Smallest, mean and quantiles of the round-trip times that the sender measured in the steady "
    "interval, one per acknowledgement, before smoothing. The p-quantile is the smallest "
    "value that a fraction p of the samples do not exceed. Their spread, the 95th percentile less the 5th, "
    "shows how far the RTT oscillates.",
    source="RFC 5166, sections 2.1.2 (delay) and 2.2 (oscillations); RFC 7323, section 4 (measuring with "
    "timestamps)",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
