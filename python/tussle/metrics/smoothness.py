"""Smoothness: the coefficient of variation of a flow's goodput."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import goodputs_while_sending, in_steady_interval, require_series


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, goodput_cov`; null where the flow delivered nothing."""
    require_series(tables.samples, "smoothness")
    goodput = pl.col("goodput_bit_per_s")
    cov = pl.when(goodput.mean() > 0).then(goodput.std(ddof=0) / goodput.mean())
    return (
        in_steady_interval(goodputs_while_sending(tables), tables)
        .group_by("run", "flow")
        .agg(cov.alias("goodput_cov"))
        .sort("run", "flow")
    )


METRIC = Metric(
    name="smoothness",
    unit="1",
    definition="Coefficient of variation of the flow's goodputs over the intervals of goodput_over_time that "
    "lie in the steady interval: standard deviation / mean. 0 is a constant rate.",
    source="RFC 5166, section 2.2 (coefficient of variation)",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
