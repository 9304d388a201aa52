"""Quantities of predicates, one value for each flow and run."""

from __future__ import annotations

from collections.abc import Mapping

import polars as pl
from polars import selectors

from tussle.metrics import REGISTRY, Tables
from tussle.predicates._model import Quantity

_INSTANT_S = 5e-10


def values(tables: Tables, quantity: Quantity) -> pl.DataFrame:
    """Return `run, flow, value`, in the unit of the quantity; `flow` is null for a metric of runs.

    Raises TussleError when the dataset lacks the quantity.
    """
    if quantity.over == "life":
        found = _over_life(tables)
    elif quantity.over != "steady":
        found = _between(tables, quantity.over)
    else:
        found = _of_metric(tables, quantity)
    return found.with_columns(pl.col("value") * quantity.scale)


def at_values(table: pl.DataFrame, at: Mapping[str, object]) -> pl.DataFrame:
    """Keep the rows with these values of axes; a tuple admits any of its values."""
    for axis, value in at.items():
        table = table.filter(pl.col(axis).is_in(value if isinstance(value, tuple) else (value,)))
    return table


def _of_metric(tables: Tables, quantity: Quantity) -> pl.DataFrame:
    metric = REGISTRY[quantity.metric]
    table = metric.compute(tables)
    numbers = [name for name in table.select(selectors.numeric()).columns if name not in metric.per]
    column = quantity.column or numbers[0]
    if column not in table.columns:
        raise ValueError(f"the metric {metric.name} has no column {column}; it has {', '.join(numbers)}")
    flow = pl.col("flow").cast(pl.UInt32) if "flow" in metric.per else pl.lit(None, pl.UInt32)
    return table.select("run", flow.alias("flow"), pl.col(column).cast(pl.Float64).alias("value"))


def _over_life(tables: Tables) -> pl.DataFrame:
    """Return the goodput of each flow from its start to its end, in bit/s."""
    last_s = pl.min_horizontal(pl.col("stop_s").fill_null(pl.col("duration_s")), "duration_s")
    return (
        tables.flows.join(tables.runs.select("run", "duration_s"), on="run")
        .select("run", "flow", (pl.col("delivered_bytes") * 8 / (last_s - pl.col("start_s"))).alias("value"))
        .sort("run", "flow")
        .collect()
    )


def _between(tables: Tables, interval_s: tuple[float, float]) -> pl.DataFrame:
    """Return the goodput of each flow between two times, in bit/s; null if the run ends before."""
    begin_s, end_s = interval_s
    time_s, delivered = pl.col("time_s"), pl.col("delivered_bytes")

    def by(instant_s: float) -> pl.Expr:
        return delivered.filter(time_s <= instant_s + _INSTANT_S).max().fill_null(0)

    goodput = (by(end_s) - by(begin_s)) * 8 / (end_s - begin_s)
    return (
        tables.samples.group_by("run", "flow")
        .agg(goodput.alias("value"))
        .join(tables.runs.select("run", "duration_s"), on="run")
        .select("run", "flow", pl.when(pl.col("duration_s") >= end_s - _INSTANT_S).then("value"))
        .sort("run", "flow")
        .collect()
    )
