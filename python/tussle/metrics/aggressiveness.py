"""How fast a flow's window grows."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import INSTANT_S

_OPEN = "open"


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, growth_packets_per_rtt`; null where the flow has no two samples without congestion."""
    require_series(tables.samples, "aggressiveness")
    flow = ["run", "flow"]
    grown = pl.col("cwnd_packets").cast(pl.Int64).diff().over(flow)
    round_trips = pl.col("time_s").diff().over(flow) / (pl.col("srtt_ms") / 1e3)
    # A window that is restored at the end of a recovery did not grow.
    is_free = (pl.col("state") == _OPEN) & (pl.col("state").shift().over(flow) == _OPEN)
    per_rtt = grown / pl.max_horizontal(round_trips, pl.lit(1.0))
    steady = tables.runs.select("run", "steady_from_s", "steady_to_s")
    return (
        tables.samples.select("run", "flow", "time_s", "cwnd_packets", "srtt_ms", "state")
        .sort("run", "flow", "time_s")
        .with_columns(pl.when(is_free & (round_trips > 0)).then(per_rtt).alias("growth"))
        .join(steady, on="run")
        .filter(
            pl.col("time_s") > pl.col("steady_from_s") + INSTANT_S,
            pl.col("time_s") <= pl.col("steady_to_s") + INSTANT_S,
        )
        .group_by("run", "flow")
        .agg(pl.col("growth").max().alias("growth_packets_per_rtt"))
        .sort("run", "flow")
        .collect()
    )


METRIC = Metric(
    name="aggressiveness",
    unit="packets/RTT",
    definition="The largest growth of the congestion window in a round trip without congestion, in the "
    "steady interval: max of Δwindow / max(1, Δt / RTT) between samples at both of which the sender is in "
    "the state open. Samples further apart than a round trip give the mean growth between them.",
    source="RFC 5166, section 2.2.1 (aggressiveness), of the window instead of the rate",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
