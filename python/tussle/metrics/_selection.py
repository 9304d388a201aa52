"""Parts of a dataset."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tussle.metrics._metric import Tables
from tussle.metrics._solo import solo_tables


@dataclass(frozen=True)
class _Selection:
    runs: pl.LazyFrame
    flows: pl.LazyFrame
    samples: pl.LazyFrame
    links: pl.LazyFrame
    events: pl.LazyFrame
    solo: Tables | None = None


def select_runs(tables: Tables, runs: Sequence[int]) -> Tables:
    """Keep these runs and no others, read into memory but for their events; solo runs stay beside them."""
    chosen = pl.col("run").is_in(list(runs))
    return _Selection(
        runs=tables.runs.filter(chosen).collect().lazy(),
        flows=tables.flows.filter(chosen).collect().lazy(),
        samples=tables.samples.filter(chosen).collect().lazy(),
        links=tables.links.filter(chosen).collect().lazy(),
        events=tables.events.filter(chosen),
        solo=solo_tables(tables),
    )


def representative_runs(tables: Tables) -> pl.DataFrame:
    """Choose the run of each point that stands for its repetitions: `point`, `run`.

    It is the one whose vector of goodputs, one a flow, is nearest to the vector of their medians; of
    several, the first. A time series of it shows what happened, where a mean of series would not.
    """
    goodputs = tables.flows.select("run", "flow", "goodput_bit_per_s").collect()
    points = tables.runs.select("run", "point").collect()
    median = pl.col("goodput_bit_per_s").median().over("point", "flow")
    return (
        points.join(goodputs, on="run")
        .sort("point", "run", "flow")
        .with_columns(((pl.col("goodput_bit_per_s") - median) ** 2).alias("square"))
        .group_by("point", "run", maintain_order=True)
        .agg(pl.col("square").sum())
        .sort("point", "square", "run")
        .group_by("point", maintain_order=True)
        .agg(pl.col("run").first())
    )
