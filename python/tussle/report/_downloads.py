"""Every number of the page, as CSV files in the page."""

from __future__ import annotations

from dataclasses import dataclass

import polars as pl
from polars import selectors

from tussle.errors import TussleError
from tussle.exports import without_formulas
from tussle.metrics import REGISTRY, Metric, Tables
from tussle.report._packed import packed


@dataclass(frozen=True)
class File:
    """A file for download."""

    name: str
    about: str
    packed: str


def files(tables: Tables) -> list[File]:
    """Return the tables `runs` and `flows`, and each metric that the dataset has."""
    found = [
        File("runs.csv", "the runs, one row per run", _csv(tables.runs.collect())),
        File("flows.csv", "the engine's results, one row per flow and run", _csv(tables.flows.collect())),
    ]
    found += [file for metric in REGISTRY.values() if (file := _of(metric, tables))]
    return found


def _of(metric: Metric, tables: Tables) -> File | None:
    if "time_s" in metric.per:
        return None  # the charts of the points have it for download
    try:
        table = metric.compute(tables)
    except TussleError:
        return None
    if table.is_empty():
        return None
    return File(f"{metric.name}.csv", f"one row for each {', '.join(metric.per)}", _csv(table))


def _csv(table: pl.DataFrame) -> str:
    return packed(without_formulas(table.select(~selectors.nested()).lazy()).collect().write_csv())
