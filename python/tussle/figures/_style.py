"""Common parts of time series: axes, colours, guide lines, titles."""

from __future__ import annotations

from typing import Any

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument
from tussle.figures._figure import View
from tussle.figures._palette import GUIDE
from tussle.figures._series import inline
from tussle.figures._words import Line
from tussle.metrics import Tables

_MOST_IN_LEGEND = 8
# Plain values instead of Altair objects, here and wherever charts are drawn by the hundred, because Altair
# copies its objects many times.
_LEGEND = {"orient": "top", "title": None}

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
    "point": {"tooltip": True},
    "tick": {"tooltip": True},
    "locale": {
        "number": {
            "decimal": ".",
            "thousands": "\u00a0",
            "grouping": [3],
            "currency": ["", ""],
            "percent": "\u00a0%",
        }
    },
}
"""The look of every figure."""


INTERVAL = ("between_s", None, "from and --to")
"""The argument of `tussle.errors.argument` for the interval of a time series."""


def shown_interval(tables: Tables, view: View) -> tuple[float, float]:
    """Return the part of a run that is drawn, in seconds."""
    return view.between_s or (0.0, tables.runs.select("duration_s").collect().item())


def refuse_nothing(shown: pl.DataFrame, view: View) -> None:
    """Raise TussleError when there are no samples in the interval to draw."""
    if view.between_s and shown.is_empty():
        start_s, end_s = view.between_s
        raise TussleError(
            f"there are no samples from {start_s:g} s to {end_s:g} s; choose others with "
            f"{argument(*INTERVAL)}"
        )


def time_axis(interval_s: tuple[float, float]) -> alt.X:
    """Return a time axis of this interval."""
    return alt.X(
        "time_s", type="quantitative", title="time (s)", axis={"tickCount": 10}, scale=_time(interval_s)
    )


def _time(interval_s: tuple[float, float]) -> dict[str, Any]:
    return {"domain": list(interval_s), "nice": False, "zero": False}


def flow_columns(look: list[Line]) -> list[pl.Expr]:
    """Name the flow of each row: `series`, and `algorithm` if there are too many flows for a legend."""
    named = [_named({line.flow: line.label for line in look}).alias("series")]
    if is_crowd(len(look)):
        named.append(_named({line.flow: line.algorithm for line in look}).alias("algorithm"))
    return named


def flow_encoding(look: list[Line]) -> list[alt.Color | alt.ColorValue | alt.StrokeDash | alt.Detail]:
    """Distinguish flows by colour and dashes, or only algorithms by colour if a legend cannot name all."""
    if is_crowd(len(look)):
        colours = {line.algorithm: line.colour for line in look}
        return [_colour("algorithm", colours), alt.Detail("series", type="nominal")]
    legend = _LEGEND if len(look) > 1 else None
    dashes = {
        "domain": [line.label for line in look],
        "range": [list(line.dash) or [1, 0] for line in look],
    }
    strokes = alt.StrokeDash("series", type="nominal", scale=dashes, legend=legend)
    if len(look) == 1:
        return [alt.ColorValue(look[0].colour), strokes]
    return [_colour("series", {line.label: line.colour for line in look}), strokes]


def is_crowd(flows: int) -> bool:
    """Return whether there are more flows than a legend can name."""
    return flows > _MOST_IN_LEGEND


def _named(names: dict[int, str]) -> pl.Expr:
    return pl.col("flow").replace_strict(names, return_dtype=pl.String)


def _colour(column: str, colours: dict[str, str]) -> alt.Color:
    scale = {"domain": list(colours), "range": list(colours.values())}
    return alt.Color(column, type="nominal", scale=scale, legend=_LEGEND)


def levels(heights: dict[str, float]) -> list[alt.Chart]:
    """Draw guide lines across the figure at these heights, each named beyond its right end.

    The first is named below its line and the others above, so that names of close lines do not meet.
    """
    parts = []
    for place, (label, height) in enumerate(heights.items()):
        chart = alt.Chart(inline(pl.DataFrame({"level": [height], "label": [label]})))
        level = alt.Y("level", type="quantitative")
        shift = -5 if place else 5
        parts.append(chart.mark_rule(color=GUIDE, strokeDash=[4, 3], strokeWidth=1).encode(level))
        parts.append(
            chart.mark_text(color=GUIDE, align="left", dx=5, dy=shift, fontSize=11).encode(
                level, alt.XValue("width"), alt.Text("label", type="nominal")
            )
        )
    return parts


def layered(*parts: alt.Chart) -> alt.LayerChart:
    """Draw charts over each other, the first at the bottom."""
    # Altair's constructors copy what they are given, several times and at each level; assignments do not.
    chart = alt.LayerChart()
    chart.layer = list(parts)
    return chart


def stacked(*parts: alt.LayerChart) -> alt.VConcatChart:
    """Draw charts above each other."""
    chart = alt.VConcatChart(spacing=14)
    chart.vconcat = list(parts)
    return chart


def sized(chart: alt.LayerChart, width_px: int, aspect: float) -> alt.LayerChart:
    """Set the size; `aspect` is the height over the width."""
    chart.width, chart.height = width_px, round(width_px * aspect)
    return chart


def measured(tables: Tables, interval_s: tuple[float, float]) -> alt.Chart:
    """Shade the visible part of the interval over which the metrics are computed."""
    steady = tables.runs.select(pl.col("steady_from_s", "steady_to_s").clip(*interval_s)).collect()
    chart = alt.Chart(inline(steady)).mark_rect(color=GUIDE, opacity=0.09, clip=True)
    begin = alt.X("steady_from_s", type="quantitative", scale=_time(interval_s))
    return chart.encode(begin, alt.X2("steady_to_s"))
