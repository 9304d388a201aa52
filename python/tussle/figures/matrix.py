"""Matrix of every pair of algorithms: their goodputs, or any other quantity."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._cells import (
    SHARE,
    Shades,
    are_means,
    cell_table,
    first_in_words,
    shades,
    sides_in_words,
)
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._series import inline
from tussle.figures._style import layered
from tussle.figures._words import network_in_words, percent
from tussle.metrics import Tables
from tussle.metrics.coexistence import THRESHOLD, UNCLEAR, YES

_LEAST_CELL_PX = 46
_CHARACTER_PX = 6.3
_TILTED_FROM = 7
"""Least number of columns whose names no longer fit side by side."""
_INK = "#16181d"
_OUTLINES = {YES: [1, 0], UNCLEAR: [3, 3]}
"""Dashes of the outline by verdict."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw one matrix for each network of the dataset: rows are first flows, columns second flows."""
    cells = cell_table(tables)
    if view.point is not None:
        cells = cells.filter(pl.col("point") == view.point)
    if cells.is_empty():
        raise TussleError(
            "this dataset does not compare pairs; a matrix needs runs of two flows each, or of two sides"
        )
    metric = view.metric or SHARE
    look = shades(tables, cells, metric)
    found = [_matrix(part, look, metric) for part in cells.partition_by("slice", maintain_order=True)]
    chart = found[0] if len(found) == 1 else alt.concat(*found, columns=2)
    remarks = [
        network_in_words(tables),
        _numbers_in_words(look, metric, cells),
        f"outlined: they share fairly (each has at least {percent(THRESHOLD)})",
    ]
    if (cells["verdict"] == UNCLEAR).any():
        remarks.append("dashed outline: unclear; runs differ too much, are too few, or have not converged")
    title = "Who shares fairly with whom" if metric == SHARE else f"Every pair: {look.words}"
    return chart.properties(title=alt.TitleParams(title, subtitle=remarks))


def _numbers_in_words(look: Shades, metric: str, cells: pl.DataFrame) -> str:
    first, second = sides_in_words(cells)
    means = ", mean per flow" if are_means(cells) else ""
    of_both = f"of the {first} / of the {second}" if means else "of the first / of the second flow"
    if metric == SHARE:
        return f"goodput {of_both} in Mbit/s{means}"
    unit = f" in {look.unit}" if look.unit else ""
    return f"{look.words}{unit}" + (f", {of_both}{means}" if look.of_both else "")


def _matrix(cells: pl.DataFrame, look: Shades, metric: str) -> alt.LayerChart:
    rows, columns = cells["first"].unique(maintain_order=True), cells["second"].unique(maintain_order=True)
    column = SHARE if metric == SHARE else "value"
    shown = (
        cells.join(look.cells, on="point", how="left")
        .sort("point")
        .select(
            "first",
            "second",
            pl.col("value").round_sig_figs(4).alias(column),
            pl.col("numbers").fill_null("none"),
            pl.col("ink").fill_null(_INK),
            "verdict",
        )
    )
    widest = max(len(numbers) for numbers in shown["numbers"])
    width, height = max(_LEAST_CELL_PX, round(widest * _CHARACTER_PX) + 10), _LEAST_CELL_PX - 6
    first_side, second_side = sides_in_words(cells)
    angle = 0 if len(columns) < _TILTED_FROM else -40
    base = alt.Chart(inline(shown)).encode(
        x=alt.X("second:N", **_side(second_side, columns)).axis(
            orient="top", labelAngle=angle, domain=False, ticks=False
        ),
        y=alt.Y("first:N", **_side(first_side, rows)).axis(domain=False, ticks=False),
    )
    # The browser may read an empty cell of CSV as text, which would be drawn as zero.
    known = base.transform_filter(f"isValid(datum.{column}) && datum.{column} !== ''")
    fills = known.mark_rect().encode(
        color=_colour(look, column, _legend_title(look, metric, cells), width * len(columns))
    )
    outlines = [
        base.transform_filter(alt.datum.verdict == verdict).mark_rect(
            fillOpacity=0, stroke=_INK, strokeWidth=1.8, strokeDash=dashes
        )
        for verdict, dashes in _OUTLINES.items()
        if (shown["verdict"] == verdict).any()
    ]
    numbers = base.mark_text(fontSize=11).encode(text="numbers:N", color=alt.Color("ink:N", scale=None))
    name = cells["slice"][0]
    chart = layered(fills, *outlines, numbers).resolve_scale(color="independent")
    sized = chart.properties(width=width * len(columns), height=height * len(rows))
    return sized.properties(title=name) if name else sized


def _colour(look: Shades, column: str, title: str, width_px: int) -> alt.Color:
    steps = len(look.ramp) - 1
    domain = [look.low + (look.high - look.low) * step / steps for step in range(steps + 1)]
    legend = alt.Legend(
        title=title,
        orient="bottom",
        gradientLength=max(200, min(420, width_px)),
        gradientThickness=10,
        titleLimit=300,
        **({"format": ".0%", "values": [0, 0.25, 0.5, 0.75, 1]} if column == SHARE else {}),
    )
    return alt.Color(
        column,
        type="quantitative",
        scale=alt.Scale(domain=domain, range=list(look.ramp), interpolate="rgb"),
        legend=legend,
    )


def _legend_title(look: Shades, metric: str, cells: pl.DataFrame) -> str:
    if metric == SHARE:
        return f"share of the {first_in_words(cells)}"
    unit = f" ({look.unit})" if look.unit else ""
    return f"{look.words} of the {first_in_words(cells)}{unit}" if look.of_both else f"{look.words}{unit}"


def _side(title: str, order: pl.Series) -> dict[str, Any]:
    return {"title": title, "sort": order.to_list(), "scale": alt.Scale(paddingInner=0.07)}


FIGURE = Figure(
    name="matrix",
    shows="Every ordered pair of algorithms: the goodput of both in numbers, the share of the first as a "
    "colour (white is fair), outlined where they share fairly, dashed where that is unclear; or any other "
    "metric, darker for larger values (for a signed metric, white at 0).",
    needs=(),
    draw=draw,
    metric=SHARE,
)
