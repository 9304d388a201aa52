"""Packets that a flow sends, retransmissions included."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables

_MS_PER_S = 1000


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, packets_per_rtt, packets`; null where the engine counts no sent packets."""
    runs = tables.runs.select("run", "steady_from_s", "steady_to_s", "base_rtt_ms")
    round_trips = (pl.col("steady_to_s") - pl.col("steady_from_s")) * _MS_PER_S / pl.col("base_rtt_ms")
    return (
        tables.flows.join(runs, on="run")
        .select(
            "run",
            "flow",
            pl.when(pl.col("base_rtt_ms") > 0)
            .then(pl.col("steady_sent_packets") / round_trips)
            .alias("packets_per_rtt"),
            pl.col("steady_sent_packets").cast(pl.Float64).alias("packets"),
        )
        .sort("run", "flow")
        .collect()
    )


METRIC = Metric(
    name="sending_rate",
    unit="packets",
    definition="Data packets that the flow sent in the steady interval, retransmissions included: in each "
    "round trip of the empty path, packets · RTT / (to - from), and in the whole interval. Under persistent "
    "congestion it shows whether a sender backs off, which goodput does not.",
    source="RFC 9743, section 5.1.1 (response to congestion); RFC 3714, section 3.1 (the sending rate under "
    "high loss, in packets per round trip)",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
