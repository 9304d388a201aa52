"""Shares of the flows of a run, for every metric that compares them."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Tables


def shares(tables: Tables) -> pl.DataFrame:
    """`run, flow, share`, 0 to 1; null where no flow of the run delivered anything."""
    goodput = pl.col("goodput_bit_per_s")
    total = goodput.sum().over("run")
    return (
        tables.flows.sort("run", "flow")
        .select("run", "flow", pl.when(total > 0).then(goodput / total).alias("share"))
        .collect()
    )
