"""Round-trip times of a flow's packets."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables

_COLUMNS = ("min", "mean", "p05", "p25", "p50", "p75", "p95", "p99")


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, rtt_min_ms, rtt_mean_ms, rtt_p05_ms … rtt_p99_ms`; null where no packet was measured."""
    columns = [f"rtt_{column}_ms" for column in _COLUMNS]
    return tables.flows.select("run", "flow", *columns).sort("run", "flow").collect()


METRIC = Metric(
    name="rtt",
    unit="ms",
    definition="Smallest, mean and quantiles of the round-trip times that the sender measured in the steady "
    "interval, one per acknowledgement, before smoothing. The p-quantile is the smallest "
    "value that a fraction p of the samples do not exceed.",
    source="RFC 5166, section 2.1.2 (delay); RFC 7323, section 4 (measuring with timestamps)",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
