"""Goodput of each flow against time."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.figures._figure import Chart, Figure, View
from tussle.figures._link import above_link
from tussle.figures._panels import Panels, each_point
from tussle.figures._series import inline
from tussle.figures._style import (
    Y_AXIS_PX,
    flow_columns,
    flow_encoding,
    layered,
    levels,
    measured,
    refuse_nothing,
    shown_interval,
    sized,
    time_axis,
)
from tussle.figures._words import lines
from tussle.metrics import REGISTRY, Tables

_ROOM_PX = 400


def draw(tables: Tables, view: View) -> Chart:
    """Draw the goodput of each flow of each point against time."""
    remark = "shaded: the measured interval"
    return each_point(tables, view, Panels("Goodput against time", remark, _panel, _caution))


def _panel(tables: Tables, view: View) -> Chart:
    look, interval = lines(tables), shown_interval(tables, view)
    series = _goodputs(tables, view)
    shown = series.select(
        *flow_columns(look),
        pl.col("time_s").round(4),
        (pl.col("goodput_bit_per_s") / 1e6).round_sig_figs(4).alias("goodput_mbit_per_s"),
    )
    refuse_nothing(shown, view)
    axis, scale = {"minExtent": Y_AXIS_PX}, {"domainMin": 0}
    title = f"goodput{_means(series, view)} (Mbit/s)"
    goodput = alt.Y("goodput_mbit_per_s", type="quantitative", title=title, scale=scale, axis=axis)
    # A mean is drawn in the middle of its interval.
    chart = alt.Chart(inline(shown)).mark_line(strokeWidth=1.6, interpolate="step", clip=True)
    layers = [
        measured(tables, interval),
        chart.encode(time_axis(interval), goodput, *flow_encoding(look)),
    ]
    rate = tables.runs.select("link_rate_bit_per_s").collect().item()
    if rate is not None:
        layers += levels({"link": rate / 1e6})
    return sized(layered(*layers), view.width_px, 0.36)


def _goodputs(tables: Tables, view: View) -> pl.DataFrame:
    shown = pl.col("time_s").is_between(*shown_interval(tables, view))
    return REGISTRY["goodput_over_time"].compute(tables).filter(shown)


def _caution(tables: Tables, view: View) -> str:
    return above_link(tables, _goodputs(tables, view)["goodput_bit_per_s"])


def _means(series: pl.DataFrame, view: View) -> str:
    """Name the interval of the means if there is room."""
    if series.is_empty() or view.width_px < _ROOM_PX:
        return ""
    return f", {series['interval_s'][0]:g} s means"


FIGURE = Figure(
    name="throughput",
    shows="Goodput of each flow against time, with the rate of the link and the measured interval.",
    needs=("samples",),
    draw=draw,
    of="point",
)
