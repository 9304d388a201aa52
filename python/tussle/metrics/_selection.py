"""Parts of a dataset."""

from __future__ import annotations

from collections.abc import Sequence

import polars as pl

from tussle.metrics._baseline import baseline_tables
from tussle.metrics._metric import Tables


class _Selection:
    """Reads each table once, when it is first used: time series are long, and not always needed."""

    def __init__(self, tables: Tables, runs: Sequence[int]) -> None:
        self._tables = tables
        self._chosen = pl.col("run").is_in(list(runs))
        self._read: dict[str, pl.LazyFrame] = {}

    @property
    def runs(self) -> pl.LazyFrame:
        return self._table("runs")

    @property
    def flows(self) -> pl.LazyFrame:
        return self._table("flows")

    @property
    def samples(self) -> pl.LazyFrame:
        return self._table("samples")

    @property
    def links(self) -> pl.LazyFrame:
        return self._table("links")

    @property
    def events(self) -> pl.LazyFrame:
        return self._tables.events.filter(self._chosen)

    @property
    def baseline(self) -> Tables | None:
        return baseline_tables(self._tables)

    def _table(self, name: str) -> pl.LazyFrame:
        if name not in self._read:
            self._read[name] = getattr(self._tables, name).filter(self._chosen).collect().lazy()
        return self._read[name]


def select_runs(tables: Tables, runs: Sequence[int]) -> Tables:
    """Select runs of a dataset; every table except `events` stays in memory once it was read.

    All baseline runs are kept.
    """
    return _Selection(tables, runs)


def representative_runs(tables: Tables) -> pl.DataFrame:
    """Choose a representative run for each point: `point`, `run`.

    The chosen run has the vector of goodputs (one for each flow) nearest to the vector of their medians;
    on a tie, the first run. Its time series are real, unlike a mean of several series.
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
