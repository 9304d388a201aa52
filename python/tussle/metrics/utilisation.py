"""Utilisation of the bottleneck."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._steady import mean_over_time, steady_bottleneck


def compute(tables: Tables) -> pl.DataFrame:
    """`run, utilisation`, 0 to 1, of the steady interval."""
    return (
        steady_bottleneck(tables)
        .group_by("run", maintain_order=True)
        .agg(mean_over_time("utilisation").alias("utilisation"))
        .sort("run")
        .collect()
    )


METRIC = Metric(
    name="utilisation",
    unit="1",
    definition="Fraction of the steady interval in which the bottleneck was sending: "
    "Σ(utilisation · Δt) / Σ Δt. Headers and retransmissions count.",
    source="RFC 5166, section 2.1.1 (link utilization)",
    better="higher",
    per=("run",),
    compute=compute,
)
