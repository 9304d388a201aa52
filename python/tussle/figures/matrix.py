"""Every pair of algorithms: who gets how much."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import SHARES, ink_on, share_colour
from tussle.figures._series import inline
from tussle.figures._style import layered
from tussle.figures._words import network_in_words
from tussle.metrics import REGISTRY, Tables, pairs, summarise
from tussle.metrics.coexistence import COEXIST, THRESHOLD

_LEAST_CELL_PX = 46
_CHARACTER_PX = 6.3
_TILTED_FROM = 7
"""Columns from which on their names no longer fit side by side."""
_INK = "#16181d"


def draw(tables: Tables, view: View) -> Chart:
    """Draw one matrix for each network of the dataset: rows are first flows, columns second flows."""
    cells = cell_table(tables)
    if view.point is not None:
        cells = cells.filter(pl.col("point") == view.point)
    if cells.is_empty():
        raise TussleError("this dataset is no comparison of pairs: a matrix needs runs of two flows each.")
    matrices = [_matrix(part) for part in cells.partition_by("slice", maintain_order=True)]
    chart = matrices[0] if len(matrices) == 1 else alt.concat(*matrices, columns=2)
    remarks = [
        network_in_words(tables),
        "goodput of the first / of the second flow in Mbit/s",
        f"outlined: they can share (each has at least {THRESHOLD:.0%})",
    ]
    return chart.properties(title=alt.TitleParams("Who can share with whom", subtitle=remarks))


def cell_table(tables: Tables) -> pl.DataFrame:
    """Give one row a pair: `pairs`, then `share, first_mbit_per_s, second_mbit_per_s` and the verdicts.

    The numbers are medians over the repetitions.
    """
    goodputs = summarise(REGISTRY["goodput"], tables).with_columns(pl.col("goodput_bit_per_s") / 1e6)
    first = goodputs.filter(pl.col("flow") == 0).select("point", first_mbit_per_s="goodput_bit_per_s")
    second = goodputs.filter(pl.col("flow") == 1).select("point", second_mbit_per_s="goodput_bit_per_s")
    shares = summarise(REGISTRY["share"], tables).filter(pl.col("flow") == 0).select("point", "share")
    verdicts = REGISTRY["coexistence"].compute(tables)
    table = pairs(tables)
    for more in (
        shares,
        first,
        second,
        verdicts.select("point", "smaller_share", "verdict", "verdict_both_orders"),
    ):
        table = table.join(more, on="point", how="left")
    return table.sort("point")


def in_cell(mbit_per_s: float) -> str:
    """Write a goodput with two or three digits, as the cells do."""
    for least, digits in ((9.95, 0), (0.995, 1)):
        if mbit_per_s >= least:
            return f"{mbit_per_s:.{digits}f}"
    return f"{mbit_per_s:.2g}"


def _matrix(cells: pl.DataFrame) -> alt.LayerChart:
    rows, columns = cells["first"].unique(maintain_order=True), cells["second"].unique(maintain_order=True)
    shown = cells.select(
        "first",
        "second",
        pl.col("share").round(4),
        pl.struct("first_mbit_per_s", "second_mbit_per_s").map_elements(_numbers, pl.String).alias("numbers"),
        pl.col("share").fill_null(0.5).map_elements(_ink, pl.String).alias("ink"),
        "verdict",
    )
    widest = max(len(numbers) for numbers in shown["numbers"])
    width, height = max(_LEAST_CELL_PX, round(widest * _CHARACTER_PX) + 10), _LEAST_CELL_PX - 6
    scale = alt.Scale(
        domain=[i / (len(SHARES) - 1) for i in range(len(SHARES))], range=list(SHARES), interpolate="rgb"
    )
    legend = alt.Legend(
        title="share of the first flow",
        orient="bottom",
        format=".0%",
        values=[0, 0.25, 0.5, 0.75, 1],
        gradientLength=max(200, min(420, width * len(columns))),
        gradientThickness=10,
        titleLimit=300,
    )
    angle = 0 if len(columns) < _TILTED_FROM else -40
    base = alt.Chart(inline(shown)).encode(
        x=alt.X("second:N", **_side("second flow", columns)).axis(
            orient="top", labelAngle=angle, domain=False, ticks=False
        ),
        y=alt.Y("first:N", **_side("first flow", rows)).axis(domain=False, ticks=False),
    )
    fills = base.mark_rect().encode(color=alt.Color("share:Q", scale=scale, legend=legend))
    outlines = base.transform_filter(alt.datum.verdict == COEXIST).mark_rect(
        fillOpacity=0, stroke=_INK, strokeWidth=1.8
    )
    numbers = base.mark_text(fontSize=11).encode(text="numbers:N", color=alt.Color("ink:N", scale=None))
    name = cells["slice"][0]
    chart = layered(fills, outlines, numbers).resolve_scale(color="independent")
    sized = chart.properties(width=width * len(columns), height=height * len(rows))
    return sized.properties(title=name) if name else sized


def _side(title: str, order: pl.Series) -> dict[str, Any]:
    return {"title": title, "sort": order.to_list(), "scale": alt.Scale(paddingInner=0.07)}


def _numbers(pair: dict[str, float]) -> str:
    return f"{in_cell(pair['first_mbit_per_s'])} / {in_cell(pair['second_mbit_per_s'])}"


def _ink(share: float) -> str:
    return ink_on(share_colour(share))


FIGURE = Figure(
    name="matrix",
    shows="Every ordered pair of algorithms: the goodput of both in numbers, the share of the first as a "
    "colour (white is fair), outlined where they can share.",
    needs=(),
    draw=draw,
)
