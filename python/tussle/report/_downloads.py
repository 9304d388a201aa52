"""Every number behind the page, as CSV files that it holds."""

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
    """A file that the page offers."""

    name: str
    about: str
    packed: str


def files(tables: Tables) -> list[File]:
    """Give the tables `runs` and `flows`, and each metric that the dataset can give."""
    found = [
        File("runs.csv", "what was run, one row a run", _csv(tables.runs.collect())),
        File("flows.csv", "what the engine counted, one row a flow and run", _csv(tables.flows.collect())),
    ]
    found += [file for metric in REGISTRY.values() if (file := _of(metric, tables))]
    return found


def _of(metric: Metric, tables: Tables) -> File | None:
    if "time_s" in metric.per:
        return None  # the charts of the points hold it, and offer it
    try:
        table = metric.compute(tables)
    except TussleError:
        return None
    if table.is_empty():
        return None
    return File(f"{metric.name}.csv", f"one row for each {', '.join(metric.per)}", _csv(table))


def _csv(table: pl.DataFrame) -> str:
    return packed(without_formulas(table.select(~selectors.nested()).lazy()).collect().write_csv())
