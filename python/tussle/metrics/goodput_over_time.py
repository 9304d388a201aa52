"""Goodput of a flow over time."""

from __future__ import annotations

import math

import polars as pl

from tussle.metrics._metric import Metric, Tables

_LEAST_INTERVALS, _MOST_INTERVALS = 60, 300
"""How many intervals a run has: what a figure can show and a person can see."""
_ROUND_TRIPS = 4
"""How many round trips an interval holds."""
_PACKET_BITS = 1500 * 8

_NS = 1_000_000_000


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, time_s, interval_s, goodput_bit_per_s`: `time_s` is the middle of each interval.

    All runs use one interval: the shortest of 1, 2, 5, 10, 20 … ms that holds a sample and, unless that
    leaves a run fewer than 60 intervals, four round trips through a full buffer (a recovered loss delivers
    the bytes of a round trip at once, which is no burst on the link), and that gives no run more than 300
    intervals. Between samples bytes count as delivered evenly. Intervals that end before the flow starts
    are left out.
    """
    samples = tables.samples.select(
        "run", "flow", (pl.col("time_s") * _NS).round().cast(pl.Int64).alias("time_ns"), "delivered_bytes"
    ).sort("time_ns")
    ends = samples.group_by("run", "flow").agg(pl.col("time_ns").max().alias("end_ns"), pl.len()).collect()
    if ends.is_empty():
        return _empty()
    step_ns = _step_ns(ends, _longest_rtt_ms(tables))
    edges = (
        ends.lazy()
        .with_columns(pl.int_ranges(0, pl.col("end_ns") // step_ns + 1).alias("edge"))
        .explode("edge")
        .select("run", "flow", (pl.col("edge") * step_ns).alias("time_ns"))
        .sort("time_ns")
    )
    starts = tables.flows.select("run", "flow", "start_s")
    gained = pl.col("delivered_bytes").diff().over("run", "flow")
    return (
        _delivered(edges, samples)
        .sort("run", "flow", "time_ns")
        .with_columns(gained.alias("gained_bytes"))
        .join(starts, on=["run", "flow"])
        .filter(pl.col("gained_bytes").is_not_null(), pl.col("time_ns") > pl.col("start_s") * _NS)
        .select(
            "run",
            "flow",
            ((pl.col("time_ns") - step_ns / 2) / _NS).alias("time_s"),
            pl.lit(step_ns / _NS).alias("interval_s"),
            (pl.col("gained_bytes") * 8 * _NS / step_ns).alias("goodput_bit_per_s"),
        )
        .sort("run", "flow", "time_s")
        .collect()
    )


def _delivered(edges: pl.LazyFrame, samples: pl.LazyFrame) -> pl.LazyFrame:
    """Give the bytes delivered by each edge, on a straight line between the samples around it."""
    before, after = (
        samples.select(
            "run",
            "flow",
            "time_ns",
            pl.col("time_ns").alias(f"{side}_ns"),
            pl.col("delivered_bytes").cast(pl.Float64).alias(f"{side}_bytes"),
        )
        for side in ("before", "after")
    )
    keys = ["run", "flow"]
    edges = edges.join_asof(before, on="time_ns", by=keys, strategy="backward", check_sortedness=False)
    edges = edges.join_asof(after, on="time_ns", by=keys, strategy="forward", check_sortedness=False)
    gap_ns = pl.col("after_ns") - pl.col("before_ns")
    slope = (pl.col("after_bytes") - pl.col("before_bytes")) / gap_ns
    between = pl.col("before_bytes") + slope * (pl.col("time_ns") - pl.col("before_ns"))
    known = pl.when(gap_ns > 0).then(between).otherwise(pl.col("before_bytes")).fill_null(0.0)
    return edges.select("run", "flow", "time_ns", known.alias("delivered_bytes"))


def _longest_rtt_ms(tables: Tables) -> float:
    """Find the longest round trip through a full buffer; 0 where none is known."""
    buffer_bits = pl.col("buffer_packets").fill_null(0) * _PACKET_BITS
    rtt_ms = pl.col("base_rtt_ms") + buffer_bits / pl.col("link_rate_bit_per_s") * 1e3
    return tables.runs.select(rtt_ms.max()).collect().item() or 0.0


def _step_ns(ends: pl.DataFrame, rtt_ms: float) -> int:
    """Choose the interval that suits series of these ends and lengths, and this round trip."""
    sampled_ns = max(end_ns / max(rows - 1, 1) for end_ns, rows in ends.select("end_ns", "len").iter_rows())
    end_ms = max(ends["end_ns"]) / 1e6
    steady_ms = min(_ROUND_TRIPS * rtt_ms, end_ms / _LEAST_INTERVALS)
    least_ms = max(sampled_ns / 1e6, end_ms / _MOST_INTERVALS, steady_ms)
    decade = 10 ** max(0, math.floor(math.log10(max(least_ms, 1))))
    nice_ms = next(step * decade for step in (1, 2, 5, 10) if step * decade >= least_ms * (1 - 1e-9))
    return nice_ms * 1_000_000


def _empty() -> pl.DataFrame:
    columns = {"time_s": pl.Float64, "interval_s": pl.Float64, "goodput_bit_per_s": pl.Float64}
    return pl.DataFrame(schema={"run": pl.UInt32, "flow": pl.UInt32, **columns})


METRIC = Metric(
    name="goodput_over_time",
    unit="bit/s",
    definition="Goodput in consecutive intervals of equal length: 8 · (bytes delivered at the end - bytes "
    "delivered at the start) / length.",
    source="RFC 5166, section 2.1.1, over short intervals",
    better="neither",
    per=("run", "flow", "time_s"),
    compute=compute,
)
