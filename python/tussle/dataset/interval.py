"""Runs whose steady interval is too short for the goodput of a flow."""

import polars as pl

FEW_ROUND_TRIPS = 10
"""Round trips below which a steady interval is short (chosen): its start then decides a goodput."""


def round_trips_of_short_runs(runs: pl.LazyFrame) -> pl.Series:
    """Return the round trips in the steady interval of each run that has fewer than `FEW_ROUND_TRIPS`.

    Round trips without a queue, by the run's base RTT; runs without a base RTT are left out.
    """
    length_ms = (pl.col("steady_to_s") - pl.col("steady_from_s")) * 1e3
    found = runs.filter(pl.col("base_rtt_ms") > 0).select(round_trips=length_ms / pl.col("base_rtt_ms"))
    return found.filter(pl.col("round_trips") < FEW_ROUND_TRIPS).collect()["round_trips"]
