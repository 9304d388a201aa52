"""Cells of a study's tables, one value for each run."""

from __future__ import annotations

import polars as pl

from tussle.metrics import Tables, axis_columns
from tussle.papers._study import Column
from tussle.predicates import values


def cells(tables: Tables, column: Column) -> pl.DataFrame:
    """Return `run, repetition`, a column for each axis, and `value`, the cell of a table for each run."""
    found = values(tables, column)
    if column.flow == "sum":
        # A sum with an unknown value is unknown.
        value = pl.when(pl.col("value").null_count() == 0).then(pl.col("value").sum())
    elif column.flow == "mean":
        value = pl.col("value").mean()
    else:
        found = found.filter(pl.col("flow").is_null() | (pl.col("flow") == column.flow))
        value = pl.col("value").first()
    runs = tables.runs.select("run", "repetition", *axis_columns(tables)).collect()
    return runs.join(found.sort("run", "flow").group_by("run").agg(value), on="run", how="left").sort("run")
