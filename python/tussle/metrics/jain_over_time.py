"""Jain's fairness index over time."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import goodputs_while_sending, require_series
from tussle.metrics._shares import jain_index


def compute(tables: Tables) -> pl.DataFrame:
    """`run, time_s, interval_s, jain_index, sending_flows`: `time_s` is the middle of each interval.

    Intervals in which no flow sends from beginning to end are left out.
    """
    require_series(tables.samples, "jain_over_time")
    return (
        goodputs_while_sending(tables)
        .group_by("run", "time_s", "interval_s", maintain_order=True)
        .agg(jain_index("goodput_bit_per_s").alias("jain_index"), pl.len().alias("sending_flows"))
        .sort("run", "time_s")
    )


METRIC = Metric(
    name="jain_over_time",
    unit="1",
    definition="(Σ x)² / (n · Σ x²) over the goodputs x, in consecutive intervals of equal length, of the n "
    "flows that send during the whole of the interval.",
    source="Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984, over short intervals",
    better="higher",
    per=("run", "time_s"),
    compute=compute,
)
