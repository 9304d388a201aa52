"""Boxes of a quantity by algorithm."""

from __future__ import annotations

from functools import partial

import altair as alt
import polars as pl

from tussle.figures._figure import Chart, Figure, Outliers, View
from tussle.figures._palette import GUIDE
from tussle.figures._quantity import Quantity
from tussle.figures._series import inline
from tussle.figures._spread import beyond, boxes, colours, in_networks, spread
from tussle.figures._style import layered
from tussle.metrics import Tables

_NAME_PX, _SMALL_NAME_PX = 62, 40
_HEIGHT_PX = 240
_TILTED_FROM = 7


def draw(tables: Tables, view: View) -> Chart:
    """Draw a box for each algorithm: quartiles, whiskers to 1.5 times their distance, outliers, the mean."""
    chosen, values = spread(tables, view.metric or "goodput", view)
    circles = "circles: outliers; " if view.outliers == "shown" else ""
    remark = f"box: quartiles and median; whiskers: 1.5 times their distance; {circles}cross: mean"
    title = alt.TitleParams(f"Spread of the {chosen.words}", subtitle=remark)
    return in_networks(values, partial(_panel, chosen, view.outliers)).properties(title=title)


def _panel(chosen: Quantity, shown: Outliers, values: pl.DataFrame) -> alt.LayerChart:
    names = values["algorithm"].unique(maintain_order=True).to_list()
    is_crowded = len(names) >= _TILTED_FROM
    x = alt.X("algorithm", type="nominal", sort=names, title=None)
    colour = alt.Color("algorithm", type="nominal", scale=colours(values), legend=None)
    numbers = pl.col("q1", "q3", "median", "mean", "low", "high").round_sig_figs(5)
    base = alt.Chart(inline(boxes(values).with_columns(numbers))).encode(
        x.axis(labelAngle=-40 if is_crowded else 0),
        tooltip=[
            alt.Tooltip("algorithm", type="nominal"),
            *map(_tooltip, ("low", "q1", "median", "mean", "q3", "high")),
        ],
    )
    parts = [
        base.mark_rule(color=GUIDE).encode(_y("low").title(chosen.title), alt.Y2("high")),
        base.mark_tick(color=GUIDE, size=12).encode(_y("low")),
        base.mark_tick(color=GUIDE, size=12).encode(_y("high")),
        base.mark_bar(size=22, fill="white").encode(_y("q1"), alt.Y2("q3")),
        base.mark_bar(size=22, fillOpacity=0.5, strokeWidth=1.2).encode(
            _y("q1"),
            alt.Y2("q3"),
            colour,
            alt.Stroke("algorithm", type="nominal", scale=colours(values), legend=None),
        ),
        base.mark_tick(color="black", size=22, thickness=2).encode(_y("median")),
        base.mark_point(shape="cross", size=45, angle=45, filled=True, color="black").encode(_y("mean")),
    ]
    outliers = beyond(values)
    if shown == "shown" and not outliers.is_empty():
        circles = alt.Chart(inline(outliers)).mark_point(size=18, strokeWidth=1.2)
        parts.append(circles.encode(x, _y("value"), colour))
    width = max(160, len(names) * (_SMALL_NAME_PX if is_crowded else _NAME_PX))
    return layered(*parts).properties(width=width, height=_HEIGHT_PX)


def _tooltip(column: str) -> alt.Tooltip:
    return alt.Tooltip(column, type="quantitative")


def _y(column: str) -> alt.Y:
    return alt.Y(column, type="quantitative", scale=alt.Scale(zero=False, nice=True))


FIGURE = Figure(
    name="box",
    shows="A metric by algorithm over all flows and repetitions, against all others where pairs are "
    "compared: median, quartiles, whiskers to the last values within 1.5 times the interquartile "
    "range, outliers, and the mean.",
    needs=(),
    draw=draw,
    metric="goodput",
)
