"""Baseline runs: a run of each flow alone."""

from __future__ import annotations

import functools

import polars as pl

from tussle.metrics._metric import Tables
from tussle.metrics._pairs import axis_columns
from tussle.scenario import BASELINE


def baseline_tables(tables: Tables) -> Tables | None:
    """Return the baseline runs of these tables, if there are any."""
    return getattr(tables, BASELINE, None)


def rate_bit_per_s() -> pl.Expr:
    """Rate of a flow while it had data to send.

    The rate is the goodput; for a completed transfer, its size over its completion time.
    """
    whole = pl.col("delivered_bytes") * 8 / pl.col("completion_s")
    return pl.when(pl.col("completion_s") > 0).then(whole).otherwise(pl.col("goodput_bit_per_s"))


def baseline_runs(tables: Tables, baseline: Tables) -> pl.DataFrame:
    """`run, flow, baseline_run`: the run in which the flow was alone, of the same repetition.

    A baseline run belongs to all points with the same values on its own axes. Its cells for axes of other
    flows are empty. Flows without a baseline run are left out.
    """
    axes = [axis for axis in axis_columns(tables) if axis in axis_columns(baseline)]
    alone = baseline.runs.select(
        pl.col("run").alias("baseline_run"),
        pl.col(BASELINE).alias("name"),
        "repetition",
        *(pl.col(axis).alias(f"baseline {axis}") for axis in axes),
    ).collect()
    flows = (
        tables.flows.select("run", "flow", "name")
        .join(tables.runs.select("run", "repetition", *axes), on="run")
        .collect()
    )
    same = [
        pl.col(f"baseline {axis}").is_null() | (pl.col(f"baseline {axis}") == pl.col(axis)) for axis in axes
    ]
    everywhere = functools.reduce(pl.Expr.and_, same, pl.lit(value=True))
    return (
        flows.join(alone, on=["name", "repetition"])
        .filter(everywhere)
        .select("run", "flow", "baseline_run")
        .sort("run", "flow")
    )
