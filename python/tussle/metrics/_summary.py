"""Repetitions of a point, as medians and quartiles."""

from __future__ import annotations

import polars as pl
from polars import selectors

from tussle.metrics._metric import Metric, Tables


def summarise(metric: Metric, tables: Tables) -> pl.DataFrame:
    """Reduce a metric to its medians over the repetitions of each point.

    One row per point (and flow, link or time, where the metric has one). Each column of values contains the
    median, the columns `…_q1` and `…_q3` beside it the quartiles (linear interpolation), and `repetitions`
    the number of runs with a value. A metric without a value per run is returned unchanged.
    """
    table = metric.compute(tables)
    if "run" not in metric.per:
        return table
    keys = ["point", *(key for key in metric.per if key != "run")]
    values = [column for column in table.select(selectors.numeric()).columns if column not in metric.per]
    repetitions = pl.col("run").filter(pl.any_horizontal(pl.col(values).is_not_null())).n_unique()
    spread = [
        aggregate
        for value in values
        for aggregate in (
            pl.col(value).median(),
            pl.col(value).quantile(0.25, "linear").alias(f"{value}_q1"),
            pl.col(value).quantile(0.75, "linear").alias(f"{value}_q3"),
        )
    ]
    points = tables.runs.select("run", "point").collect()
    return (
        table.join(points, on="run").group_by(keys).agg(repetitions.alias("repetitions"), *spread).sort(keys)
    )
