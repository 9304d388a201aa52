"""Power: goodput over delay."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, power_bit_per_s2`; null where no RTT was measured."""
    power = pl.col("goodput_bit_per_s") / (pl.col("rtt_mean_ms") / 1e3)
    return tables.flows.select("run", "flow", power.alias("power_bit_per_s2")).sort("run", "flow").collect()


METRIC = Metric(
    name="power",
    unit="bit/s²",
    definition="Goodput over the mean round-trip time, both in the steady interval: x / RTT. It is largest "
    "where more goodput would raise the RTT in the same proportion.",
    source="Kleinrock, Power and deterministic rules of thumb for probabilistic problems in computer "
    "communications, ICC 1979",
    better="higher",
    per=("run", "flow"),
    compute=compute,
)
