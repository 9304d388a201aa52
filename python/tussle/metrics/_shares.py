"""Sums and shares of goodputs, for every metric that compares flows."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Tables


def sum_if_known(column: str) -> pl.Expr:
    """Sum of a column; null where any of its cells is empty: an unknown value is not 0."""
    return pl.when(pl.col(column).is_not_null().all()).then(pl.col(column).sum())


def jain_index(column: str) -> pl.Expr:
    """Jain's index of a column, 1/n to 1; null where all are 0, or any cell is empty."""
    squares = pl.len() * (pl.col(column) ** 2).sum()
    return pl.when(squares > 0).then(sum_if_known(column) ** 2 / squares)


def shares(tables: Tables) -> pl.DataFrame:
    """`run, flow, share`, 0 to 1; null where no flow of the run delivered anything."""
    total = sum_if_known("goodput_bit_per_s").over("run")
    return (
        tables.flows.sort("run", "flow")
        .select("run", "flow", pl.when(total > 0).then(pl.col("goodput_bit_per_s") / total).alias("share"))
        .collect()
    )
