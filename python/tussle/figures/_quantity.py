"""Quantities by the names of metrics and their columns, in units for people."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

import polars as pl
from polars import selectors

from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY, Metric, Tables, summarise

_MAIN = {
    "completion": "completion_s",
    "max_min_share": "max_min_share",
    "queue": "queue_mean_ms",
    "queueing_delay": "queueing_delay_p50_ms",
    "response_time": "response_time_p50_s",
    "rtt": "rtt_p50_ms",
    "standing_queue": "standing_queue_ms",
}
"""The column that a metric's name means, if it is not the metric's first column."""
_UNITS = {
    "_bit_per_s": ("Mbit/s", 1e-6),
    "_bit_per_s2": ("Mbit/s²", 1e-6),
    "_packets_per_rtt": ("packets/RTT", 1.0),
    "_rtts": ("RTTs", 1.0),
    "_ms": ("ms", 1.0),
    "_s": ("s", 1.0),
    "_packets": ("packets", 1.0),
    "_bytes": ("kB", 1e-3),
    "_fraction": ("%", 100.0),
    "share": ("%", 100.0),
    "utilisation": ("%", 100.0),
    "harm": ("%", 100.0),
}
"""Displayed unit and the factor to it, by the ending of a column's name. Other columns have none."""
_PER = (("run", "flow"), ("run",))


@dataclass(frozen=True)
class Quantity:
    """A column of a metric."""

    metric: Metric
    column: str
    words: str
    """Name in words: "goodput", "RTT p95"."""
    unit: str
    """Displayed unit; empty if there is none."""
    scale: float
    """Factor from the column to that unit."""

    @property
    def title(self) -> str:
        """Title of an axis: "goodput (Mbit/s)"."""
        return f"{self.words} ({self.unit})" if self.unit else self.words

    @property
    def is_of_flows(self) -> bool:
        """Whether each flow has a value, instead of one for the run."""
        return "flow" in self.metric.per


def quantity(name: str, tables: Tables) -> Quantity:
    """Find the quantity of this name: a metric or a column of a metric.

    Raises TussleError when there is none, with the nearest name, or when the tables lack what it needs.
    """
    known = {metric.name: metric for metric in REGISTRY.values() if metric.per in _PER}
    if name in known:
        metric = known[name]
        column = _MAIN.get(name) or next(_columns(metric, tables))
    else:
        metric, column = _owner(name, known, tables), name
    suffix, (unit, scale) = next(
        ((end, known_unit) for end, known_unit in _UNITS.items() if column.endswith(end)), ("", ("", 1.0))
    )
    stem = column.removesuffix(suffix) if suffix.startswith("_") else column
    words = stem.replace("_", " ").replace("rtt", "RTT").replace("jain", "Jain")
    return Quantity(metric, column, words, unit, scale)


def medians(chosen: Quantity, tables: Tables) -> pl.DataFrame:
    """Give `point, flow, value, low, high`: medians over the repetitions and quartiles; no `flow` of runs.

    Unknown values are left out. Raises TussleError when none is known.
    """
    table = summarise(chosen.metric, tables)
    keys = [key for key in ("point", "flow") if key in table.columns]
    column = chosen.column
    values = table.select(
        *keys,
        (pl.col(column) * chosen.scale).alias("value"),
        (pl.col(f"{column}_q1") * chosen.scale).alias("low"),
        (pl.col(f"{column}_q3") * chosen.scale).alias("high"),
    )
    return _known(chosen, values)


def each_value(chosen: Quantity, tables: Tables) -> pl.DataFrame:
    """Give `run, flow, value`, one row a repetition; no `flow` of runs. Unknown values are left out.

    Raises TussleError when none is known.
    """
    value = (pl.col(chosen.column) * chosen.scale).alias("value")
    return _known(chosen, chosen.metric.compute(tables).select(*chosen.metric.per, value))


def _known(chosen: Quantity, values: pl.DataFrame) -> pl.DataFrame:
    found = values.drop_nulls("value")
    if found.is_empty():
        raise TussleError(f"this dataset has no values of the {chosen.words}: {chosen.column} is empty")
    return found


def _owner(column: str, known: dict[str, Metric], tables: Tables) -> Metric:
    """Find the metric that has this column; most columns begin with the metric's name."""
    seen = []
    for metric in sorted(known.values(), key=lambda each: each.name not in column):
        try:
            columns = list(_columns(metric, tables))
        except TussleError:
            if metric.name in column:
                raise
            continue
        if column in columns:
            return metric
        seen += columns
    raise TussleError(unknown("metric", column, [*known, *seen]))


def _columns(metric: Metric, tables: Tables) -> Iterator[str]:
    """Return the numeric columns that a metric computes from these tables."""
    columns = metric.compute(tables).select(selectors.numeric()).columns
    yield from (column for column in columns if column not in metric.per)
