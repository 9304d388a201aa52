"""The matrix as a table of links: one cell per pair, coloured as in the figure."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from tussle.errors import TussleError
from tussle.figures import (
    SHARE,
    Shades,
    are_means,
    first_in_words,
    percent,
    shades,
    sides_in_words,
    spread_in_words,
)
from tussle.metrics import Tables
from tussle.metrics.coexistence import DEPENDS, NO, UNCLEAR, YES
from tussle.report import _answer
from tussle.report._tables import number

_QUANTITIES = (
    SHARE,
    "throughput_harm",
    "delay_harm",
    "loss_harm",
    "total",
    "jain",
    "starvation",
    "order_effect",
    "utilisation",
    "queue",
    "queueing_delay_p95_ms",
    "rtt",
    "rtt_p95_ms",
    "retransmitted",
    "timeouts",
    "smoothness",
)
"""Quantities that the matrix can show, the initial one first; those without values are left out."""
VERDICTS = {
    YES: "that share fairly",
    NO: "that do not share fairly",
    DEPENDS: "that depend on the order",
    UNCLEAR: "that are unclear",
}
"""Filters of pairs, in the words of the page."""
_VERDICTS_IN_WORDS = {
    YES: "they share fairly",
    NO: "they do not share fairly",
    UNCLEAR: "unclear whether they share fairly",
}
_UNKNOWN = ["none", None, None, None]


@dataclass(frozen=True)
class Pair:
    """One cell."""

    anchor: str
    point: int
    shown: list
    """`numbers, fill, ink, value` of the initial quantity."""
    verdict: str
    """The verdict, over both orders where both were run; empty where nothing was delivered."""
    outline: str
    """The CSS class of the outline: `yes`, `unclear`, or none."""
    label: str
    """The cell in words, for screen readers."""


@dataclass(frozen=True)
class Matrix:
    """The matrix of one network."""

    network: str
    """The values of the axes that identify it; empty if there is one matrix."""
    answer: str
    first: str
    """Name of the rows, such as `first flow`."""
    second: str
    """Name of the columns."""
    columns: list[str]
    rows: list[tuple[str, list[Pair | None]]]


@dataclass(frozen=True)
class ShownQuantity:
    """A quantity that the matrices can show."""

    words: str
    unit: str
    of_both: bool
    ramp: Sequence[str]
    ends: tuple[str, str, str]
    """Labels of the left end, the middle and the right end of the ramp."""
    cells: dict[int, list]
    """Cell of each point: `numbers, fill, ink, value`."""


def anchors_of_pairs(cells: pl.DataFrame) -> dict[int, str]:
    """Return the anchor of each pair's details, by point: `pair-reno-cubic`, with the point if not unique."""
    names = {row["point"]: f"pair-{_slug(row['first'])}-{_slug(row['second'])}" for row in cells.to_dicts()}
    taken: set[str] = set()
    found = {}
    for point, name in names.items():
        found[point] = f"{name}-point-{point}" if name in taken else name
        taken.add(name)
    return found


def sides_of_numbers(cells: pl.DataFrame) -> str:
    """Name the two numbers of a cell: "of the first and of the second flow", or the means of both sides."""
    if not are_means(cells):
        return "of the first and of the second flow"
    first, second = sides_in_words(cells)
    return f"of the {first} and of the {second} (mean per flow)"


def quantities(tables: Tables, cells: pl.DataFrame) -> list[ShownQuantity]:
    """Return all quantities that the matrices can show for these pairs."""
    found = []
    for name in _QUANTITIES:
        try:
            found.append(_shown(name, shades(tables, cells, name), cells))
        except TussleError:
            continue
    return found


def _shown(name: str, look: Shades, cells: pl.DataFrame) -> ShownQuantity:
    ends = ("second takes all", "fair", "first takes all")
    if name != SHARE:
        low, high = (f"{number(end)} {look.unit}".strip() for end in (look.low, look.high))
        middle = ["0"] if look.diverges else []
        middle += [f"of the {first_in_words(cells)}"] if look.of_both else []
        ends = (low, ", ".join(middle), high)
    rows = look.cells.select("point", "numbers", "fill", "ink", pl.col("value").round_sig_figs(6))
    by_point = {point: cell for point, *cell in rows.iter_rows()}
    return ShownQuantity(look.words, look.unit, look.of_both, look.ramp, ends, by_point)


def matrices(cells: pl.DataFrame, anchors: dict[int, str], first: ShownQuantity) -> list[Matrix]:
    """Return the matrix of each network, in the order of the points, with the initial quantity."""
    parts = cells.partition_by("slice", maintain_order=True)
    return [_matrix(part, anchors, first) for part in parts]


def _matrix(cells: pl.DataFrame, anchors: dict[int, str], shown: ShownQuantity) -> Matrix:
    columns = cells["second"].unique(maintain_order=True).to_list()
    rows = cells["first"].unique(maintain_order=True).to_list()
    found = {(row["first"], row["second"]): _pair(row, anchors, shown) for row in cells.to_dicts()}
    return Matrix(
        network=cells["slice"][0],
        answer=_answer.of_matrix(cells),
        first=sides_in_words(cells)[0],
        second=sides_in_words(cells)[1],
        columns=columns,
        rows=[(first, [found.get((first, second)) for second in columns]) for first in rows],
    )


def _pair(row: dict, anchors: dict[int, str], shown: ShownQuantity) -> Pair:
    cell = shown.cells.get(row["point"], _UNKNOWN)
    first, _, second = cell[0].partition(" / ")
    verdict = "nothing was delivered"
    if row["verdict"]:
        smaller = f"the smaller has {percent(row['smaller_share'])} ({spread_in_words(row)})"
        verdict = f"{_VERDICTS_IN_WORDS[row['verdict']]}; {smaller}"
    return Pair(
        anchor=anchors[row["point"]],
        point=row["point"],
        shown=cell,
        verdict=row["verdict_both_orders"] or row["verdict"] or "",
        outline=row["verdict"] if row["verdict"] in (YES, UNCLEAR) else "",
        label=f"{row['first']} first {first}, {row['second']} second {second or first} Mbit/s: {verdict}",
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
