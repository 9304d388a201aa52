"""Convergence: the time until the flows share fairly, and their fairness from then on."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import SECOND_NS, goodputs_of_all, require_series
from tussle.metrics._shares import jain_index

_TOLERANCE = 0.25
"""Largest distance of a flow from the equal share, relative to it."""
_HELD = 5
"""Number of consecutive intervals within the tolerance."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, convergence_s, jain_index_after`; both null where the flows never converge."""
    require_series(tables.samples, "convergence")
    series = goodputs_of_all(tables, SECOND_NS).filter(pl.col("flows") > 1)
    mean = pl.col("goodput_bit_per_s").mean().over("run", "time_s")
    is_within = ((pl.col("goodput_bit_per_s") - mean).abs() <= _TOLERANCE * mean) & (mean > 0)
    intervals = (
        series.with_columns(is_within.alias("is_within"))
        .group_by("run", "time_s", "interval_s")
        .agg(pl.col("is_within").all())
        .sort("run", "time_s")
        .with_columns(_holds_from_here().alias("holds"))
    )
    begins_s = pl.col("time_s") - pl.col("interval_s") / 2
    converged = intervals.filter("holds").group_by("run").agg(begins_s.min().alias("from_s"))
    after = (
        series.join(converged, on="run")
        .filter(pl.col("time_s") > pl.col("from_s"))
        .group_by("run", "flow")
        .agg(pl.col("goodput_bit_per_s").mean())
        .group_by("run")
        .agg(jain_index("goodput_bit_per_s").alias("jain_index_after"))
    )
    last_start_s = tables.flows.group_by("run").agg(pl.col("start_s").max()).collect()
    return (
        last_start_s.join(converged, on="run", how="left")
        .join(after, on="run", how="left")
        .select("run", (pl.col("from_s") - pl.col("start_s")).alias("convergence_s"), "jain_index_after")
        .sort("run")
    )


def _holds_from_here() -> pl.Expr:
    """Return whether this interval and the next ones are all within the tolerance."""
    ahead = [pl.col("is_within").shift(-step).over("run").fill_null(value=False) for step in range(_HELD)]
    return pl.all_horizontal(ahead)


METRIC = Metric(
    name="convergence",
    unit="s, 1",
    definition="The time from the last flow's start to the first second from which on every flow's goodput "
    f"is within {_TOLERANCE * 100:g}\u00a0% of the equal share, Σ x / n, in each of {_HELD} seconds; and "
    "Jain's index of the mean goodputs from then until a flow ends. Where an interval of goodput_over_time "
    "is longer than a second, that interval is used instead of a second.",
    source="after the forward-looking convergence time of Dong et al., PCC, NSDI 2015; RFC 5166, section 2.3 "
    "(convergence times)",
    better="lower",
    per=("run",),
    compute=compute,
)
