"""What time series have in common: axes, colours, guide lines, titles."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.figures._palette import GUIDE
from tussle.figures._series import inline
from tussle.figures._words import Line
from tussle.metrics import Tables

_MOST_IN_LEGEND = 8

Y_AXIS_PX = 40
"""Room for the labels of vertical axes, so that charts above each other line up."""

CONFIG = {
    "background": "white",
    "font": "Liberation Sans, Helvetica, Arial, sans-serif",
    "view": {"stroke": None},
    "axis": {
        "labelFontSize": 11,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "gridColor": GUIDE,
        "gridOpacity": 0.2,
        "domainColor": GUIDE,
        "tickColor": GUIDE,
    },
    "title": {"fontSize": 14, "subtitleFontSize": 12, "anchor": "start", "offset": 10},
    "legend": {
        "labelFontSize": 12,
        "titleFontSize": 12,
        "titleFontWeight": "normal",
        "symbolStrokeWidth": 2.5,
    },
}
"""The look of every figure."""


def time_axis(tables: Tables) -> alt.X:
    """Give the time axis of a run, from its beginning to its end."""
    end_s = tables.runs.select("duration_s").collect().item()
    axis, scale = alt.Axis(tickCount=10), alt.Scale(domain=[0, end_s], nice=False)
    return alt.X("time_s", type="quantitative", title="time (s)", axis=axis, scale=scale)


def flow_encoding(look: list[Line]) -> tuple[alt.Color, alt.StrokeDash]:
    """Give the colour and dashes of the column `series`, with a legend for a few flows."""
    labels = [line.label for line in look]
    legend = alt.Legend(orient="top", title=None) if 1 < len(look) <= _MOST_IN_LEGEND else None
    colours = alt.Scale(domain=labels, range=[line.colour for line in look])
    dashes = alt.Scale(domain=labels, range=[list(line.dash) or [1, 0] for line in look])
    return (
        alt.Color("series", type="nominal", scale=colours, legend=legend),
        alt.StrokeDash("series", type="nominal", scale=dashes, legend=legend),
    )


def levels(heights: dict[str, float]) -> alt.LayerChart:
    """Draw guide lines across the figure at these heights, each named beyond its right end."""
    data = inline(pl.DataFrame({"level": list(heights.values()), "label": list(heights)}))
    height = alt.Y("level", type="quantitative")
    chart = alt.Chart(data)
    return layered(
        chart.mark_rule(color=GUIDE, strokeDash=[4, 3], strokeWidth=1).encode(height),
        chart.mark_text(color=GUIDE, align="left", dx=5, fontSize=11).encode(
            height, alt.XValue("width"), alt.Text("label", type="nominal")
        ),
    )


def layered(*parts: alt.Chart | alt.LayerChart) -> alt.LayerChart:
    """Draw charts over each other, the first at the bottom."""
    return alt.LayerChart(layer=list(parts))


def sized(chart: alt.LayerChart, width_px: int, aspect: float) -> alt.LayerChart:
    """Set the size; `aspect` is the height over the width."""
    chart.width, chart.height = width_px, round(width_px * aspect)
    return chart


def measured(tables: Tables) -> alt.Chart:
    """Shade the interval over which the metrics are computed."""
    interval = tables.runs.select("steady_from_s", "steady_to_s").collect()
    chart = alt.Chart(inline(interval)).mark_rect(color=GUIDE, opacity=0.09)
    return chart.encode(alt.X("steady_from_s", type="quantitative"), alt.X2("steady_to_s"))
