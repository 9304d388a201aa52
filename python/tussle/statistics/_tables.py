"""Metrics over the repetitions of each point, or of each pair in both orders, with their intervals."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import polars as pl
from polars import selectors

from tussle.errors import TussleError
from tussle.metrics import Metric, Tables, pairs, sides
from tussle.statistics._estimate import estimate


def estimates(metric: Metric, tables: Tables) -> pl.DataFrame:
    """Reduce a metric to its medians over the repetitions of each point, with confidence intervals.

    One row per point (and flow, or other key of the metric). Each column of values contains the median;
    beside it are the quartiles `…_q1` and `…_q3`, and the ends of the 95 % interval `…_low` and `…_high`,
    which are empty with fewer than six repetitions. `repetitions` is the number of runs with a value. A
    metric without a value per run is returned unchanged.
    """
    if "run" not in metric.per:
        return metric.compute(tables)
    points = tables.runs.select("run", "point").collect()
    table = metric.compute(tables).join(points, on="run")
    return _estimated(
        table, ["point", *(key for key in metric.per if key != "run")], value_columns(metric, table)
    )


def pooled_estimates(metric: Metric, tables: Tables) -> pl.DataFrame:
    """Reduce a metric of pairs as `estimates` does, with both orders of start taken together.

    One row for each `slice`, `algorithm` and `other`. A metric of flows has the values of the algorithm
    beside the other in either order: the mean of its flows, beside itself that of all. A metric of runs has
    one row per pair, in the order of their names. Raises TussleError where the runs are not pairs.
    """
    if "run" not in metric.per or not set(metric.per) <= {"run", "flow"}:
        raise TussleError(f"{metric.name} is not a metric of runs or flows, so that it has no orders to pool")
    computed = metric.compute(tables)
    points = tables.runs.select("run", "point").collect()
    table = computed.join(points, on="run").join(pairs(tables), on="point")
    if "flow" in metric.per:
        table = table.join(sides(tables), on=["run", "flow"])
    if table.is_empty():
        raise TussleError(
            f"{metric.name}: this dataset has no runs of two flows each, so that there are no orders"
        )
    first, second = pl.col("first"), pl.col("second")
    is_own = pl.col("side") == 0 if "flow" in metric.per else first <= second
    named = table.with_columns(
        pl.when(is_own).then(first).otherwise(second).alias("algorithm"),
        pl.when(is_own).then(second).otherwise(first).alias("other"),
    )
    keys, values = ["slice", "algorithm", "other"], value_columns(metric, computed)
    # Two flows of one algorithm are not independent: one gains what the other loses. They are one value.
    means = named.group_by(*keys, "run").agg(pl.col(values).mean())
    return _estimated(means, keys, values)


def value_columns(metric: Metric, table: pl.DataFrame) -> list[str]:
    """Return the columns of values in a metric's table: numbers that are not keys."""
    numbers = table.select(selectors.numeric()).columns
    return [column for column in numbers if column not in (*metric.per, "point")]


def _estimated(table: pl.DataFrame, keys: list[str], values: Sequence[str]) -> pl.DataFrame:
    rows = []
    for key, group in table.sort(*keys, "run").group_by(keys, maintain_order=True):
        known = group.filter(pl.any_horizontal(pl.col(values).is_not_null()))
        row = dict(zip(keys, key, strict=True)) | {"repetitions": known["run"].n_unique()}
        for value in values:
            row |= _cells(value, group[value].drop_nulls().to_list())
        rows.append(row)
    types = {key: table.schema[key] for key in keys} | {"repetitions": pl.UInt32}
    parts = [f"{value}{part}" for value in values for part in ("", "_q1", "_q3", "_low", "_high")]
    return pl.DataFrame(rows, schema={**types, **dict.fromkeys(parts, pl.Float64)})


def _cells(value: str, numbers: list[float]) -> dict[str, Any]:
    if not numbers:
        return {}
    found = estimate(numbers)
    return {
        value: found.median,
        f"{value}_q1": found.q1,
        f"{value}_q3": found.q3,
        f"{value}_low": found.low,
        f"{value}_high": found.high,
    }
