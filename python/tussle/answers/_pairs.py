"""Pairs of algorithms, as a matrix to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.answers._grid import Cell, Grid, Heading
from tussle.figures import are_means, cell_table, sides_in_words
from tussle.metrics import Tables
from tussle.metrics.coexistence import NO, THRESHOLD, UNCLEAR
from tussle.statistics import LEAST

_MARKS = {NO: "*", UNCLEAR: "?"}


def pair_grids(tables: Tables) -> list[Grid]:
    """Return a matrix for each network: the first flow in the rows, the second in the columns."""
    return [_matrix(part) for part in cell_table(tables).partition_by("slice", maintain_order=True)]


def _in_order(column: pl.Series) -> list[str]:
    return column.unique(maintain_order=True).to_list()


def _matrix(cells: pl.DataFrame) -> Grid:
    seconds = _in_order(cells["second"])
    network = cells["slice"][0]
    goodput, share, sides = (
        "Goodput of the first and of the second flow",
        "the smaller flow's share of both goodputs",
        "flows",
    )
    if are_means(cells):
        first, second = sides_in_words(cells)
        goodput = f"Goodput of the {first} and of the {second}, mean per flow"
        share, sides = "the smaller mean's share of both means", "sides"
    title = f"{goodput}, Mbit/s" + (f", {network}" if network else "")
    rows = []
    for first in _in_order(cells["first"]):
        row = {}
        for pair in cells.filter(pl.col("first") == first).iter_rows(named=True):
            goodputs = f"{pair['first_mbit_per_s']:.1f} / {pair['second_mbit_per_s']:.1f}"
            row[pair["second"]] = _cell(goodputs, pair)
        rows.append([Cell(first), *(row.get(second, Cell("")) for second in seconds)])
    runs = max(cells["runs"].drop_nulls().to_list(), default=0)
    spread = f" and {'95 % interval' if runs >= LEAST else 'range'} of {runs} runs" if runs > 1 else ""
    caption = (
        f"second line: {share} in %, median{spread}\n"
        f"* the {sides} do not share fairly: the smaller share is below {THRESHOLD * 100:.0f} %; ? unclear"
    )
    headings = [Heading("first \\ second"), *(Heading(second, "number") for second in seconds)]
    return Grid(title, headings, rows, caption)


def _cell(goodputs: str, pair: Mapping[str, Any]) -> Cell:
    """Format a pair: goodputs and verdict, and on a second line the smaller share with its spread."""
    if pair["smaller_share"] is None:
        return Cell(f"{goodputs}  ")
    parts = [pair[f"smaller_share{part}"] * 100 for part in ("", "_low", "_high")]
    share, low, high = (f"{part:.0f}" for part in parts)
    spread = share if pair["runs"] == 1 else f"{share} [{low}, {high}]"
    verdict = pair["verdict"] if pair["verdict"] in _MARKS else ""
    return Cell(f"{goodputs} {_MARKS.get(verdict, ' ')}", f"{spread}  ", verdict)
