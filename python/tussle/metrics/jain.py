"""Jain's fairness index of the flows' mean goodputs."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._shares import jain_index


def compute(tables: Tables) -> pl.DataFrame:
    """`run, jain_index`, 1/n to 1; null where no flow of the run delivered anything."""
    return (
        tables.flows.sort("run", "flow")
        .group_by("run", maintain_order=True)
        .agg(jain_index("goodput_bit_per_s").alias("jain_index"))
        .collect()
    )


METRIC = Metric(
    name="jain",
    unit="1",
    definition="(Σ x)² / (n · Σ x²) over the goodputs x of the n flows in the steady interval: 1 when all "
    "get the same, 1/n when one gets everything.",
    source="Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984; RFC 5166, 2.3.1",
    better="higher",
    per=("run",),
    compute=compute,
)
