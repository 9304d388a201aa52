"""Goodput of all flows of a run together."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._shares import sum_if_known


def compute(tables: Tables) -> pl.DataFrame:
    """`run, total_goodput_bit_per_s`."""
    total = sum_if_known("goodput_bit_per_s").alias("total_goodput_bit_per_s")
    return tables.flows.sort("run", "flow").group_by("run", maintain_order=True).agg(total).collect()


METRIC = Metric(
    name="total",
    unit="bit/s",
    definition="Sum of the goodputs of all flows of the run in the steady interval: Σ x.",
    source="RFC 5166, section 2.1.1 (aggregate throughput)",
    better="higher",
    per=("run",),
    compute=compute,
)
