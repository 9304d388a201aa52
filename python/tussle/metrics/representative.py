"""Distance of a run from the average of its repetitions."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables

_MEASURED = {"goodput_bit_per_s": "goodput", "rtt_mean_ms": "rtt", "steady_timeouts": "timeouts"}


def compute(tables: Tables) -> pl.DataFrame:
    """`run, distance`, 0 for a run equal to the average; null where the RTT of a flow is unknown."""
    means = [pl.col(column).cast(pl.Float64).mean().alias(name) for column, name in _MEASURED.items()]
    runs = tables.flows.group_by("run", maintain_order=True).agg(*means)
    # Sums over a point depend, in their last digit, on the order of its runs.
    runs = runs.join(tables.runs.select("run", "point"), on="run").sort("run")
    squares = []
    for name in _MEASURED.values():
        mean = pl.col(name).mean().over("point")
        # If all values are 0, all runs are alike.
        apart = pl.when(mean > 0).then((pl.col(name) - mean) / mean).otherwise(pl.col(name))
        squares.append(apart**2)
    distance = sum(squares[1:], squares[0]).sqrt()
    return runs.select("run", distance.alias("distance")).collect()


METRIC = Metric(
    name="representative",
    unit="1",
    definition="Distance of the run's vector (goodput, mean RTT, timeouts), means over its flows in the "
    "steady interval, from the mean vector of the repetitions of its point: √Σ ((x - mean) / mean)². Each "
    "part is relative to its mean, so that the distance does not depend on units. The run with the smallest "
    "distance is the representative one.",
    source="TCP congestion control over HSDPA: an experimental evaluation, section V, with parts that are "
    "not relative to their means",
    better="lower",
    per=("run",),
    compute=compute,
)
