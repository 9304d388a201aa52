"""Loss synchronisation: the fraction of flows that lose packets in the same congestion event."""

from __future__ import annotations

import polars as pl

from tussle.metrics._drops import loss_events, steady_drops
from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, congestion_events, synchronisation`, 1/n to 1; null without drops, and for a single flow."""
    drops = steady_drops(tables, "loss_synchronisation")
    hit = []
    for (run,), lost in drops.group_by("run", maintain_order=True):
        events = lost.select("flow", loss_events(lost["time_s"], lost["rtt_s"][0]))
        of_event = events.group_by("event").agg(pl.col("flow").n_unique())
        hit.append({"run": run, "congestion_events": of_event.height, "hit": of_event["flow"].mean()})
    schema = {"run": pl.UInt32, "congestion_events": pl.UInt32, "hit": pl.Float64}
    flows = tables.flows.group_by(pl.col("run").cast(pl.UInt32)).agg(pl.len().alias("flows")).collect()
    part = pl.when(pl.col("flows") > 1).then(pl.col("hit") / pl.col("flows"))
    return (
        flows.join(pl.DataFrame(hit, schema=schema), on="run", how="left")
        .select("run", pl.col("congestion_events").fill_null(0), part.alias("synchronisation"))
        .sort("run")
    )


METRIC = Metric(
    name="loss_synchronisation",
    unit="1",
    definition="Mean over the congestion events of the steady interval of the fraction of flows that lost "
    "a packet in it: 1 when all lose together, 1/n when one at a time. A congestion event is a drop of any "
    "flow and all that follow within a round trip through a full buffer.",
    source="Hassayoun and Ros, Loss synchronization and router buffer sizing with high-speed versions of "
    "TCP, INFOCOM Workshops 2008 (global synchronization rate)",
    better="lower",
    per=("run",),
    compute=compute,
)
