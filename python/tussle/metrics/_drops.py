"""Packets that the network dropped in the steady interval, and which of them are one loss event."""

from __future__ import annotations

import numpy as np
import polars as pl

from tussle.errors import TussleError, setting
from tussle.metrics._metric import Tables
from tussle.metrics._steady import PACKET_BITS

_KINDS = ("drop", "corrupt")
"""Kinds of events of packets that are lost: dropped or damaged."""


def steady_drops(tables: Tables, metric: str) -> pl.DataFrame:
    """`run, flow, time_s, link, packet, rtt_s`: one row for each dropped packet, sorted by time.

    `rtt_s` is a round trip through a full buffer. Raises TussleError when packets were, or may have been,
    dropped without an event, and when rate or RTT of the bottleneck are unknown.
    """
    drops = _drops(tables)
    recorded = drops.group_by("run").agg(pl.len().alias("recorded"))
    dropped = tables.flows.group_by("run").agg(pl.col("dropped_packets").fill_null(1).sum())
    missed = dropped.join(recorded, on="run", how="left").filter(
        pl.col("dropped_packets") > pl.col("recorded").fill_null(0)
    )
    if not missed.collect().is_empty():
        raise TussleError(
            f"{metric} needs events, and this dataset has none; run the scenario again with "
            f"{setting('record.events', 'on')}"
        )
    unknown = tables.runs.select(pl.col("link_rate_bit_per_s", "base_rtt_ms").null_count()).collect()
    if unknown.row(0) != (0, 0):
        raise TussleError(
            f"{metric} needs the rate and the RTT of the bottleneck, which some runs of this dataset do not "
            "have; leave such runs out"
        )
    buffer_s = pl.col("buffer_packets").fill_null(0) * PACKET_BITS / pl.col("link_rate_bit_per_s")
    runs = tables.runs.select(
        "run",
        "steady_from_s",
        "steady_to_s",
        (pl.col("base_rtt_ms") / 1e3 + buffer_s).alias("rtt_s"),
    )
    return (
        drops.join(runs, on="run")
        .filter(pl.col("time_s").is_between("steady_from_s", "steady_to_s", closed="right"))
        .select("run", "flow", "time_s", "link", "packet", "rtt_s")
        .sort("run", "time_s", "flow", "packet")
        .collect()
    )


def _drops(tables: Tables) -> pl.LazyFrame:
    if "kind" not in tables.events.collect_schema():
        columns = {"flow": pl.UInt32, "time_s": pl.Float64, "link": pl.String, "packet": pl.UInt32}
        return pl.LazyFrame(schema={"run": tables.flows.collect_schema()["run"], **columns})
    return tables.events.filter(pl.col("kind").is_in(_KINDS), pl.col("flow").is_not_null())


def loss_events(times_s: pl.Series, rtt_s: float) -> pl.Series:
    """Number the loss events: an event is a drop and all that follow within a round trip of it.

    >>> loss_events(pl.Series([0.0, 0.03, 0.04, 0.2]), 0.04).to_list()
    [0, 0, 1, 2]
    """
    times = times_s.to_numpy()
    numbers = np.zeros(len(times), dtype=np.uint32)
    begin, number = 0, 0
    while begin < len(times):
        end = max(int(np.searchsorted(times, times[begin] + rtt_s, side="left")), begin + 1)
        numbers[begin:end] = number
        begin, number = end, number + 1
    return pl.Series("event", numbers)
