"""Distribution of a quantity by algorithm."""

from __future__ import annotations

from functools import partial

import altair as alt
import polars as pl

from tussle.figures._figure import Chart, Figure, View
from tussle.figures._quantity import Quantity
from tussle.figures._series import inline
from tussle.figures._spread import colours, in_networks, spread
from tussle.figures._style import layered, sized
from tussle.figures._words import dashes
from tussle.metrics import Tables

_WIDTH_PX, _SMALL_PX = 520, 250


def draw(tables: Tables, view: View) -> Chart:
    """Draw a curve for each algorithm: the fraction of the values up to the one at the axis."""
    chosen, values = spread(tables, view.metric or "goodput", view)
    is_one = values["network"].n_unique() == 1
    panel = partial(_panel, chosen, _WIDTH_PX if is_one else _SMALL_PX)
    title = alt.TitleParams(f"Distribution of the {chosen.words}", subtitle="over all flows and repetitions")
    return in_networks(values, panel).properties(title=title)


def _panel(chosen: Quantity, width_px: int, values: pl.DataFrame) -> alt.LayerChart:
    names = values["algorithm"].unique(maintain_order=True).to_list()
    strokes = [list(dash) or [1, 0] for dash in dashes(names)]
    legend = alt.Legend(title=None, orient="right", symbolSize=400, symbolType="stroke")
    curves = (
        alt.Chart(inline(values))
        .transform_window(
            fraction="cume_dist()",
            sort=[alt.SortField("value", order="ascending")],
            groupby=["algorithm"],
        )
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(
            alt.X("value", type="quantitative", title=chosen.title, scale=alt.Scale(zero=False)),
            alt.Y("fraction", type="quantitative", title="share of the values").axis(format=".0%"),
            alt.Color("algorithm", type="nominal", scale=colours(values), legend=legend),
            alt.StrokeDash(
                "algorithm", type="nominal", scale=alt.Scale(domain=names, range=strokes), legend=legend
            ),
        )
    )
    return sized(layered(curves), width_px, 0.55)


FIGURE = Figure(
    name="cdf",
    shows="Cumulative distribution of a metric by algorithm over all flows and repetitions: the "
    "fraction of the values that do not exceed the one at the axis.",
    needs=(),
    draw=draw,
    metric="goodput",
)
