"""Steadiness: the drift of a flow's goodput within the steady interval."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import halves_of_steady_interval, has_series, require_series

THRESHOLD = 0.1
"""The largest drift of any flow with which a run counts as steady."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, drift, is_steady`; `is_steady`: no flow of the run drifts by more than `THRESHOLD`."""
    require_series(tables.samples, "steadiness")
    both = (pl.col("first_bit_per_s") + pl.col("second_bit_per_s")).sum().over("run") / 2
    drift = (pl.col("second_bit_per_s") - pl.col("first_bit_per_s")) / both
    return (
        halves_of_steady_interval(tables)
        .with_columns(pl.when(both > 0).then(drift).alias("drift"))
        .with_columns((pl.col("drift").abs().max().over("run") <= THRESHOLD).alias("is_steady"))
        .select("run", "flow", "drift", "is_steady")
        .sort("run", "flow")
    )


def unsteady_runs(tables: Tables) -> list[int] | None:
    """Return the runs that are not steady; `None` where there are no time series."""
    if not has_series(tables.samples):
        return None
    runs = compute(tables).group_by("run").agg(pl.col("is_steady").all())
    return runs.filter(~pl.col("is_steady"))["run"].sort().to_list()


def note_on_steadiness(tables: Tables, name: str = "") -> str:
    """Return a note on the number of runs that are not steady; empty if all are, or without time series.

    `name` is the name of the tables in the note, where there is more than one dataset.
    """
    unsteady = unsteady_runs(tables)
    if not unsteady:
        return ""
    runs = tables.runs.select(pl.len()).collect().item()
    of_name = f" of {name}" if name else ""
    return (
        f"{len(unsteady)} of {runs} runs{of_name} {'is' if len(unsteady) == 1 else 'are'} not steady in the "
        "measured interval (metric steadiness); use a longer duration, or a later steady.from"
    )


METRIC = Metric(
    name="steadiness",
    unit="1",
    definition="Difference of the flow's goodput between the second and the first half of the steady "
    "interval, as a fraction of the goodput of all flows: (x2 - x1) / Σ mean x. A run counts as steady when "
    f"no flow drifts by more than {THRESHOLD} in either direction.",
    source="the comparison of an early with a late part of a series, after Geweke, Bayesian Statistics 4, "
    "1992; the threshold is chosen",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
