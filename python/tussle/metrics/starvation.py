"""Starvation: the smallest share of a flow in any second."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import SECOND_NS, goodputs_of_all, in_steady_interval, require_series


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, smallest_share`, 0 to 1; no row where no second of the steady interval has all flows."""
    require_series(tables.samples, "starvation")
    total = pl.col("goodput_bit_per_s").sum().over("run", "time_s")
    share = pl.when(total > 0).then(pl.col("goodput_bit_per_s") / total)
    return (
        in_steady_interval(goodputs_of_all(tables, SECOND_NS), tables)
        .with_columns(share.alias("share"))
        .group_by("run", "flow")
        .agg(pl.col("share").min().alias("smallest_share"))
        .sort("run", "flow")
    )


METRIC = Metric(
    name="starvation",
    unit="1",
    definition="The smallest share of the flow in any second of the steady interval: min over t of "
    "x_i(t) / Σ x(t). A value close to 0 means that the flow starved for a while, whatever its mean share. "
    "Where an interval of goodput_over_time is longer than a second, that interval is used instead of a "
    "second.",
    source="the smallest of the shares of RFC 5166, section 2.3.1; after Arun, Alizadeh and Balakrishnan, "
    "Starvation in end-to-end congestion control, SIGCOMM 2022",
    better="higher",
    per=("run", "flow"),
    compute=compute,
)
