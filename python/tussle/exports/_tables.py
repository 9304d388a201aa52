"""Exportable tables: the tables of a dataset, and its metrics."""

from __future__ import annotations

import polars as pl

from tussle.dataset import OPTIONAL_TABLES, TABLES, Dataset
from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY, Metric, axis_columns
from tussle.statistics import estimates

_TABLES = TABLES | OPTIONAL_TABLES

WHATS = (*_TABLES, *REGISTRY)
"""The names of the tables and of the metrics."""


def exported_table(dataset: Dataset, what: str) -> pl.LazyFrame:
    """Return a table of the dataset unchanged, or a metric with columns that identify its rows.

    The rows of a metric have the point, the repetition, the axes and the flow, so that the file can be read
    without others. Raises TussleError for an unknown name, for a metric that the dataset does not have, and
    for a table without rows.
    """
    if what not in WHATS:
        raise TussleError(unknown("table or metric", what, WHATS))
    table = dataset.table(what) if what in _TABLES else _with_names(dataset, REGISTRY[what]).lazy()
    if table.limit(1).collect().is_empty():
        raise TussleError(f"{dataset.folder}: {what} has no rows, so that there is nothing to export")
    return table


def summary_table(dataset: Dataset, what: str) -> pl.LazyFrame:
    """Return a metric's medians over the repetitions of each point, with quartiles and 95 % intervals."""
    if what not in REGISTRY:
        raise TussleError(
            f"--summary is for metrics, and {what} is not a metric; leave it out, or give one such as goodput"
        )
    metric = REGISTRY[what]
    table = estimates(metric, dataset)
    if "run" in metric.per:
        axes = axis_columns(dataset)
        table = table.join(dataset.runs.select("point", *axes).unique().collect(), on="point")
        if "flow" in metric.per:
            named = dataset.flows.join(dataset.runs, on="run").select("point", "flow", "name", "algorithm")
            table = table.join(named.unique(["point", "flow"], keep="any").collect(), on=["point", "flow"])
        keys = [key for key in metric.per if key != "run"]
        about = [name for name in ("name", "algorithm") if "flow" in metric.per]
        table = table.select("point", *axes, *keys, *about, pl.exclude("point", *axes, *keys, *about))
        table = table.sort("point", *keys)
    return table.lazy()


def _with_names(dataset: Dataset, metric: Metric) -> pl.DataFrame:
    table = metric.compute(dataset)
    axes = axis_columns(dataset)
    if "run" in metric.per:
        runs = dataset.runs.select("run", "point", "repetition", *axes).collect()
        table = table.join(runs, on="run")
        if "flow" in metric.per:
            flows = dataset.flows.select("run", "flow", "name", "algorithm").collect()
            table = table.join(flows, on=["run", "flow"])
        about = ["name", "algorithm"] if "flow" in metric.per else []
        first = ["run", "point", "repetition", *axes, *metric.per[1:], *about]
        return table.select(*first, pl.exclude(first)).sort(metric.per)
    if "point" in metric.per:
        places = dataset.runs.select("point", *axes).unique().collect()
        return table.join(places, on="point").select("point", *axes, pl.exclude("point", *axes)).sort("point")
    return table
