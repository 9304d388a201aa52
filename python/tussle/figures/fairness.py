"""Jain's fairness index of the flows against time."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import AMOUNTS, GUIDE
from tussle.figures._panels import Panels, each_point
from tussle.figures._series import inline
from tussle.figures._style import (
    Y_AXIS_PX,
    layered,
    measured,
    refuse_nothing,
    shown_interval,
    sized,
    time_axis,
)
from tussle.metrics import REGISTRY, Tables

_SEVERAL = 2
_COLOUR = AMOUNTS[-2]


def draw(tables: Tables, view: View) -> Chart:
    """Draw Jain's index of each point against time, and its least possible value."""
    remark = "1: all get the same; dashed: one flow gets everything; shaded: the measured interval"
    return each_point(tables, view, Panels("Fairness against time", remark, _panel))


def _panel(tables: Tables, view: View) -> Chart:
    if tables.flows.select(pl.len()).collect().item() < _SEVERAL:
        raise TussleError("fairness over time needs runs of two flows or more")
    interval = shown_interval(tables, view)
    index = pl.col("jain_index").round_sig_figs(4)
    shown = (
        REGISTRY["jain_over_time"]
        .compute(tables)
        .filter(pl.col("time_s").is_between(*interval), pl.col("jain_index").is_not_null())
        .select(pl.col("time_s").round(4), index, (1 / pl.col("sending_flows")).round(4).alias("least_index"))
    )
    refuse_nothing(shown, view)
    chart = alt.Chart(inline(shown))
    least = chart.mark_line(color=GUIDE, strokeDash=[4, 3], strokeWidth=1, interpolate="step", clip=True)
    jain = chart.mark_line(color=_COLOUR, strokeWidth=1.8, interpolate="step", clip=True)
    layers = (
        measured(tables, interval),
        least.encode(time_axis(interval), _index("least_index")),
        jain.encode(time_axis(interval), _index("jain_index")),
    )
    return sized(layered(*layers), view.width_px, 0.28)


def _index(column: str) -> alt.Y:
    axis, scale = {"minExtent": Y_AXIS_PX, "tickCount": 5}, {"domain": [0, 1]}
    return alt.Y(column, type="quantitative", title="Jain index", scale=scale, axis=axis)


FIGURE = Figure(
    name="fairness",
    shows="Jain's fairness index of the flows that send, against time, between 1, when all get the same, "
    "and the guide line at 1/n, when one of n gets everything.",
    needs=("samples",),
    draw=draw,
    of="point",
)
