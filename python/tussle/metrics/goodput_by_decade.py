"""Goodput of all flows together, early and late, in decades of time."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._over_time import delivered_by, require_series
from tussle.metrics._steady import INSTANT_S

_DECADES_S = [0.0, *(10.0**power for power in range(7))]


def compute(tables: Tables) -> pl.DataFrame:
    """`run, from_s, to_s, goodput_bit_per_s`: 0 to 1 s, 1 to 10 s, 10 to 100 s …, the last until the end.

    Decades that end before the first sample are left out. Raises TussleError without samples.
    """
    require_series(tables.samples, "goodput_by_decade")
    decades = _decades(tables)
    ends = decades.select("run", pl.concat_list("from_s", "to_s").alias("time_s")).explode("time_s").unique()
    delivered = delivered_by(tables, ends).group_by("run", "time_s").agg(pl.col("delivered_bytes").sum())
    gained = pl.col("delivered_bytes") - pl.col("delivered_bytes_before")
    return (
        decades.join(delivered, left_on=["run", "to_s"], right_on=["run", "time_s"])
        .join(delivered, left_on=["run", "from_s"], right_on=["run", "time_s"], suffix="_before")
        .select(
            "run",
            "from_s",
            "to_s",
            (gained * 8 / (pl.col("to_s") - pl.col("from_s"))).alias("goodput_bit_per_s"),
        )
        .sort("run", "from_s")
        .collect()
    )


def _decades(tables: Tables) -> pl.LazyFrame:
    """`run, from_s, to_s`."""
    sampled = tables.samples.filter(pl.col("delivered_bytes").is_not_null())
    first_s = sampled.group_by("run").agg(
        pl.col("time_s").filter(pl.col("time_s") > 0).min().alias("first_s")
    )
    from_s, to_s, sampled_s = pl.col("from_s"), pl.col("to_s"), pl.col("first_s") - INSTANT_S
    return (
        tables.runs.select("run", "duration_s")
        .join(first_s, on="run")
        .with_columns(pl.lit(_DECADES_S).alias("from_s"))
        .explode("from_s")
        .with_columns(pl.min_horizontal(pl.max_horizontal(10 * from_s, 1.0), "duration_s").alias("to_s"))
        .filter(from_s < to_s - INSTANT_S, to_s >= sampled_s, (from_s == 0) | (from_s >= sampled_s))
        .select("run", "from_s", "to_s")
    )


METRIC = Metric(
    name="goodput_by_decade",
    unit="s, bit/s",
    definition="Goodput of all flows together in each decade of the run: from 0 to 1 s, 1 to 10 s, 10 to "
    "100 s and so on, the last until the end of the run.",
    source="RFC 5166, section 2.1.1, over intervals of growing length",
    better="higher",
    per=("run", "from_s"),
    compute=compute,
)
