"""Pairs of algorithms, as a matrix to be shown."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.answers._grid import Cell, Grid, Heading
from tussle.metrics import REGISTRY, Tables, summarise
from tussle.metrics.coexistence import NO, THRESHOLD, UNCLEAR
from tussle.statistics import LEAST

_MARKS = {NO: "*", UNCLEAR: "?"}


def pair_grids(tables: Tables, verdicts: pl.DataFrame) -> list[Grid]:
    """Return a matrix for each network: the first flow in the rows, the second in the columns."""
    goodput = summarise(REGISTRY["goodput"], tables).select("point", "flow", "goodput_bit_per_s")
    mbit_per_s = {(point, flow): value / 1e6 for point, flow, value in goodput.iter_rows()}
    parts = verdicts.partition_by("slice", maintain_order=True)
    return [_matrix(part, mbit_per_s) for part in parts]


def _in_order(column: pl.Series) -> list[str]:
    return column.unique(maintain_order=True).to_list()


def _matrix(verdicts: pl.DataFrame, mbit_per_s: Mapping[tuple[int, int], float]) -> Grid:
    seconds = _in_order(verdicts["second"])
    network = verdicts["slice"][0]
    title = "Goodput of the first and of the second flow, Mbit/s" + (f", {network}" if network else "")
    rows = []
    for first in _in_order(verdicts["first"]):
        row = {}
        for pair in verdicts.filter(pl.col("first") == first).iter_rows(named=True):
            goodputs = f"{mbit_per_s[pair['point'], 0]:.1f} / {mbit_per_s[pair['point'], 1]:.1f}"
            row[pair["second"]] = _cell(goodputs, pair)
        rows.append([Cell(first), *(row.get(second, Cell("")) for second in seconds)])
    runs = max(verdicts["runs"].drop_nulls().to_list(), default=0)
    spread = f" and {'95 % interval' if runs >= LEAST else 'range'} of {runs} runs" if runs > 1 else ""
    caption = (
        f"second line: the smaller flow's share of both goodputs in %, median{spread}\n"
        f"* the flows do not share fairly: the smaller share is below {THRESHOLD * 100:.0f} %; ? unclear"
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
