"""Runs whose hosts did not keep up."""

import polars as pl


def late_runs(validity: pl.LazyFrame | None) -> pl.DataFrame:
    """Return `run` and `shortfall` of the runs in which a host did not keep up, in ascending order.

    `validity` is the table of a dataset, if it has one.
    """
    if validity is None:
        return pl.DataFrame(schema={"run": pl.UInt32, "shortfall": pl.String})
    late = validity.filter(~pl.col("kept_up"))
    return late.group_by("run").agg(pl.col("shortfall").first()).sort("run").collect()
