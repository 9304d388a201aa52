"""Number of packets that a flow loses in one loss event."""

from __future__ import annotations

import polars as pl

from tussle.metrics._drops import loss_events, steady_drops
from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, loss_events, burst_mean_packets, burst_max_packets`; null sizes where nothing was lost."""
    drops = steady_drops(tables, "loss_event_size")
    sizes = []
    for (run, flow), lost in drops.group_by("run", "flow", maintain_order=True):
        events = loss_events(lost["time_s"], lost["rtt_s"][0])
        sizes.append({"run": run, "flow": flow, "packets": events.value_counts()["count"].to_list()})
    schema = {"run": pl.UInt32, "flow": pl.UInt32, "packets": pl.List(pl.UInt32)}
    bursts = pl.DataFrame(sizes, schema=schema)
    flows = tables.flows.select(pl.col("run").cast(pl.UInt32), pl.col("flow").cast(pl.UInt32)).collect()
    return (
        flows.join(bursts, on=["run", "flow"], how="left")
        .select(
            "run",
            "flow",
            pl.col("packets").list.len().fill_null(0).alias("loss_events"),
            pl.col("packets").list.mean().alias("burst_mean_packets"),
            pl.col("packets").list.max().alias("burst_max_packets"),
        )
        .sort("run", "flow")
    )


METRIC = Metric(
    name="loss_event_size",
    unit="packets",
    definition="Packets of the flow that the network dropped or damaged in one loss event of the steady "
    "interval: mean and largest, and how many events there were. A loss event is a drop and all that "
    "follow within a round trip through a full buffer.",
    source="RFC 5348, section 5.2 (loss events)",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
