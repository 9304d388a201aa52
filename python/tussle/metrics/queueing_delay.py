"""Quantiles of the delay that the bottleneck's queue adds."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import steady_bottleneck

_QUANTILES = {"p05": 0.05, "p25": 0.25, "p50": 0.5, "p75": 0.75, "p95": 0.95, "p99": 0.99}
_ROUNDING = 1e-9
"""Largest rounding error of a sum of intervals."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, queueing_delay_p05_ms … queueing_delay_p99_ms`, of the steady interval."""
    require_series(tables.links, "queueing_delay")
    interval_s = pl.col("interval_s")
    weight = interval_s.cum_sum() / interval_s.sum()
    quantiles = [
        pl.col("delay_ms").filter(weight >= part - _ROUNDING).first().alias(f"queueing_delay_{name}_ms")
        for name, part in _QUANTILES.items()
    ]
    delay_ms = pl.col("backlog_bytes") * 8e3 / pl.col("link_rate_bit_per_s")
    return (
        steady_bottleneck(tables)
        .select("run", "interval_s", delay_ms.alias("delay_ms"))
        .filter(pl.col("delay_ms").is_not_null())
        .sort("run", "delay_ms")
        .group_by("run", maintain_order=True)
        .agg(quantiles)
        .collect()
    )


METRIC = Metric(
    name="queueing_delay",
    unit="ms",
    definition="Quantiles over the time of the steady interval of the delay of a packet in a "
    "first-in, first-out queue: 8 · bytes waiting / link rate. The p-quantile is the smallest value that "
    "is not exceeded for a fraction p of the time.",
    source="RFC 5166, section 2.1.2 (queueing delay)",
    better="lower",
    per=("run",),
    compute=compute,
)
