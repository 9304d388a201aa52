"""Responsiveness: the time until a flow yields to one that joins."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import goodputs_while_sending, require_series

_BEFORE = 4
"""Number of intervals before the last start that give the earlier goodput of a flow."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, response_s, response_rtts`, a row for each flow that started before the last one.

    Values are null if the flow never yields. There are no rows if all flows start within one interval.
    """
    require_series(tables.samples, "responsiveness")
    starts = tables.flows.select("run", "flow", "start_s").collect()
    joins_s = starts.group_by("run").agg(pl.col("start_s").max().alias("join_s"))
    earlier = starts.join(joins_s, on="run").filter(pl.col("start_s") < pl.col("join_s"))
    earlier_count, all_count = earlier.group_by("run").len("earlier"), starts.group_by("run").len("all")
    half = pl.col("interval_s") / 2
    series = (
        goodputs_while_sending(tables)
        .join(earlier.select("run", "flow", "join_s"), on=["run", "flow"])
        .join(earlier_count, on="run")
        .join(all_count, on="run")
        .sort("run", "flow", "time_s")
    )
    before = (
        series.filter(pl.col("time_s") + half <= pl.col("join_s"))
        .group_by("run", "flow", maintain_order=True)
        .agg(pl.col("goodput_bit_per_s").tail(_BEFORE).mean().alias("had_bit_per_s"))
    )
    fair = pl.col("had_bit_per_s") * pl.col("earlier") / pl.col("all")
    ends_s = (pl.col("time_s") + half).filter(pl.col("goodput_bit_per_s") <= fair).min()
    response_s = ends_s - pl.col("join_s").first()
    base_rtt_ms = tables.runs.select("run", "base_rtt_ms").collect()
    return (
        series.join(before, on=["run", "flow"])
        .filter(pl.col("time_s") - half >= pl.col("join_s"))
        .group_by("run", "flow")
        .agg(response_s.alias("response_s"))
        .join(base_rtt_ms, on="run")
        .select(
            "run",
            "flow",
            "response_s",
            (pl.col("response_s") * 1e3 / pl.col("base_rtt_ms")).alias("response_rtts"),
        )
        .sort("run", "flow")
    )


METRIC = Metric(
    name="responsiveness",
    unit="s, RTTs",
    definition="The time from the last flow's start until the goodput of an earlier flow falls to "
    "(flows before / flows now) · its mean goodput in the four intervals before; with one earlier flow, to "
    "half. The time ends with the first interval of goodput_over_time in which that holds, and is also given "
    "in round trips of the empty path.",
    source="RFC 5166, section 2.2 (responsiveness: the time until the rate is halved), with a flow that "
    "joins as the congestion",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
