"""Goodput of a flow in the steady interval."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, goodput_bit_per_s`: bits per second delivered to the application in order."""
    return tables.flows.select("run", "flow", "goodput_bit_per_s").sort("run", "flow").collect()


METRIC = Metric(
    name="goodput",
    unit="bit/s",
    definition="Bytes delivered in order to the receiving application in the steady interval, times 8, "
    "over its length: 8 · bytes / (to - from). Headers and retransmissions do not count.",
    source="RFC 5166, section 2.1.1 (goodput)",
    better="higher",
    per=("run", "flow"),
    compute=compute,
)
