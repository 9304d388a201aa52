"""Aggressiveness: the growth of a flow's window."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import require_series
from tussle.metrics._steady import INSTANT_S

_OPEN = "open"


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, growth_packets_per_rtt`; null where the flow has no round trip without congestion."""
    require_series(tables.samples, "aggressiveness")
    flow = ["run", "flow"]
    samples = (
        tables.samples.select("run", "flow", "time_s", "cwnd_packets", "srtt_ms", "state")
        .sort("time_s")
        .with_columns((pl.col("state") != _OPEN).cum_sum().over(flow).alias("congested"))
    )
    earlier = samples.select(
        *flow,
        pl.col("time_s").alias("then_s"),
        pl.col("cwnd_packets").cast(pl.Int64).alias("then_packets"),
        pl.col("congested").alias("then_congested"),
        pl.col("state").alias("then_state"),
    )
    # A window that is restored at the end of a recovery did not grow.
    is_free = (pl.col("congested") == pl.col("then_congested")) & (pl.col("then_state") == _OPEN)
    round_trips = (pl.col("time_s") - pl.col("then_s")) * 1e3 / pl.col("srtt_ms")
    growth = (pl.col("cwnd_packets").cast(pl.Int64) - pl.col("then_packets")) / round_trips
    steady = tables.runs.select("run", "steady_from_s", "steady_to_s")
    return (
        samples.with_columns((pl.col("time_s") - pl.col("srtt_ms") / 1e3 + INSTANT_S).alias("rtt_ago_s"))
        .filter(pl.col("rtt_ago_s").is_not_null())
        .sort("rtt_ago_s")
        .join_asof(earlier, left_on="rtt_ago_s", right_on="then_s", by=flow, check_sortedness=False)
        .join(steady, on="run")
        .filter(
            pl.col("time_s") > pl.col("steady_from_s") + INSTANT_S,
            pl.col("time_s") <= pl.col("steady_to_s") + INSTANT_S,
        )
        .group_by(flow)
        .agg(growth.filter(is_free).max().alias("growth_packets_per_rtt"))
        .sort(flow)
        .collect()
    )


METRIC = Metric(
    name="aggressiveness",
    unit="packets/RTT",
    definition="The largest growth of the congestion window in a round trip without congestion, in the "
    "steady interval: max of (w - w') / ((t - t') / RTT), where t' is the latest sample at least a round "
    "trip before t, and the sender is in the state open from t' to t. Where samples are further "
    "apart than a round trip, this is the mean growth between them.",
    source="RFC 5166, section 2.2 (aggressiveness), of the window instead of the rate",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
