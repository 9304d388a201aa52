"""Metrics as tables of the page: headings, units, digits, medians with their quartiles."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tussle.metrics import REGISTRY, Tables, axis_columns, summarise


@dataclass(frozen=True)
class Quantity:
    """A column of numbers."""

    metric: str
    column: str
    heading: str
    unit: str
    scale: float
    """Factor from the unit of the metric's column to `unit`."""


@dataclass(frozen=True)
class Cell:
    """The content of one cell."""

    text: str
    order: float | str
    """The value in the unit of the heading, for sorting and for downloads."""
    spread: str = ""
    """The quartiles, where there are repetitions."""
    quartiles: tuple[float, float] | None = None
    """The quartiles as numbers."""
    link: str = ""


@dataclass(frozen=True)
class Heading:
    """The head of a column."""

    text: str
    unit: str = ""
    is_text: bool = False


@dataclass(frozen=True)
class Table:
    """A table for the page."""

    headings: list[Heading]
    rows: list[list[Cell]]


FLOW_QUANTITIES = (
    Quantity("goodput", "goodput_bit_per_s", "Goodput", "Mbit/s", 1e-6),
    Quantity("share", "share", "Share", "%", 100),
    Quantity("retransmitted", "retransmitted_fraction", "Retrans.", "%", 100),
    Quantity("timeouts", "steady_timeouts", "Timeouts", "", 1),
    Quantity("rtt", "rtt_p50_ms", "Median RTT", "ms", 1),
    Quantity("rtt", "rtt_p95_ms", "95th percentile", "ms", 1),
)
POINT_QUANTITIES = (
    Quantity("total", "total_goodput_bit_per_s", "Goodput, all flows", "Mbit/s", 1e-6),
    Quantity("utilisation", "utilisation", "Link busy", "%", 100),
    Quantity("jain", "jain_index", "Jain index", "", 1),
    Quantity("queue", "queue_mean_packets", "Mean queue", "packets", 1),
    Quantity("queue", "queue_mean_ms", "Mean queue", "ms", 1),
    Quantity("queue", "queue_max_packets", "Largest queue", "packets", 1),
)


def summaries(tables: Tables, quantities: Sequence[Quantity], keys: list[str]) -> pl.DataFrame:
    """Return the summaries of the metrics of these quantities, one row for each of `keys`."""
    names = list(dict.fromkeys(quantity.metric for quantity in quantities))
    joined = summarise(REGISTRY[names[0]], tables)
    for name in names[1:]:
        joined = joined.join(summarise(REGISTRY[name], tables).drop("repetitions"), on=keys, how="left")
    return joined.sort(keys)


def flow_table(tables: Tables) -> dict[int, Table]:
    """Return a table of the flows of each point, by point."""
    names = _names(tables)
    headings = [_text("Flow"), _text("Algorithm"), *_headings(FLOW_QUANTITIES)]
    found: dict[int, list[list[Cell]]] = {}
    for row in summaries(tables, FLOW_QUANTITIES, ["point", "flow"]).iter_rows(named=True):
        name, algorithm = names[row["point"], row["flow"]]
        cells = [Cell(name, name), Cell(algorithm, algorithm)]
        found.setdefault(row["point"], []).append(cells + [_cell(row, q) for q in FLOW_QUANTITIES])
    return {point: Table(headings, rows) for point, rows in found.items()}


def point_table(tables: Tables, anchors: dict[int, str]) -> Table:
    """Return a table of the points, each with its values on the axes and a link to its details."""
    axes = axis_columns(tables)
    places = {row["point"]: row for row in tables.runs.select("point", *axes).unique().collect().to_dicts()}
    headings = [
        Heading("Point"),
        *map(_text, axes),
        *_headings(POINT_QUANTITIES),
    ]
    rows = []
    for row in summaries(tables, POINT_QUANTITIES, ["point"]).iter_rows(named=True):
        point = row["point"]
        place = [Cell(places[point][axis], natural(places[point][axis])) for axis in axes]
        head = Cell(str(point), point, link=anchors[point])
        rows.append([head, *place, *(_cell(row, q) for q in POINT_QUANTITIES)])
    return Table(headings, rows)


def number(value: float) -> str:
    """Format a number with up to three significant digits."""
    if value == 0:
        return "0"
    magnitude = abs(value)
    for least, digits in ((99.95, 0), (9.995, 1), (0.0995, 2)):
        if magnitude >= least:
            return f"{value:.{digits}f}"
    return f"{value:.2g}"


def natural(text: str) -> float | str:
    """Return the sorting key of a written value: its leading number, if it has one."""
    head = text.split(" ", maxsplit=1)[0]
    try:
        return float(head)
    except ValueError:
        return text


def _text(name: str) -> Heading:
    return Heading(name, is_text=True)


def _headings(quantities: Sequence[Quantity]) -> list[Heading]:
    return [Heading(quantity.heading, quantity.unit) for quantity in quantities]


def _cell(row: dict[str, float | None], quantity: Quantity) -> Cell:
    value = row[quantity.column]
    if value is None:
        return Cell("none", float("-inf"))
    low, high = row[f"{quantity.column}_q1"], row[f"{quantity.column}_q3"]
    text, order = number(value * quantity.scale), exact(value * quantity.scale)
    if low is None or high is None or (row["repetitions"] or 0) <= 1:
        return Cell(text, order)
    ends = number(low * quantity.scale), number(high * quantity.scale)
    spread = " to ".join(ends) if ends[0] != ends[1] else ""
    return Cell(text, order, spread, (exact(low * quantity.scale), exact(high * quantity.scale)))


def exact(value: float) -> float:
    """Round to nine significant digits, without the noise of binary fractions."""
    return float(f"{value:.9g}")


def _names(tables: Tables) -> dict[tuple[int, int], tuple[str, str]]:
    flows = (
        tables.flows.join(tables.runs.select("run", "point"), on="run")
        .select("point", "flow", "name", "algorithm")
        .unique()
        .collect()
    )
    return {(row["point"], row["flow"]): (row["name"], row["algorithm"]) for row in flows.to_dicts()}
