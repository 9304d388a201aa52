"""RTT of each flow against time."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._panels import Panels, each_point
from tussle.figures._series import inline, thin_flows
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
from tussle.metrics import Tables

_MOST_ROWS = 10_000
"""Of all flows together: more are neither seen nor quick."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw the latest round-trip time of each flow of each point against time."""
    return each_point(
        tables, view, Panels("RTT against time", "shaded: the interval that is measured", _panel)
    )


def _panel(tables: Tables, view: View) -> Chart:
    look, interval = lines(tables), shown_interval(tables, view)
    measurements = (
        tables.samples.filter(pl.col("rtt_ms").is_not_null(), pl.col("time_s").is_between(*interval))
        .select("flow", "time_s", "rtt_ms")
        .sort("flow", "time_s")
        .collect()
    )
    refuse_nothing(measurements, view)
    if measurements.is_empty():
        raise TussleError("no RTT was measured in this run.")
    most_rows = min(view.most_rows, _MOST_ROWS // len(look))
    shown = thin_flows(measurements, "rtt_ms", most_rows).select(
        *flow_columns(look), pl.col("time_s").round(4), pl.col("rtt_ms").round_sig_figs(4)
    )
    axis, scale = {"minExtent": Y_AXIS_PX}, {"domainMin": 0}
    rtt = alt.Y("rtt_ms", type="quantitative", title="RTT (ms)", scale=scale, axis=axis)
    chart = alt.Chart(inline(shown)).mark_line(strokeWidth=1.4, clip=True)
    curves = chart.encode(time_axis(interval), rtt, *flow_encoding(look))
    base_ms = tables.runs.select("base_rtt_ms").collect().item()
    guides = [] if base_ms is None else levels({"base RTT": base_ms})
    return sized(layered(measured(tables, interval), curves, *guides), view.width_px, 0.3)


FIGURE = Figure(
    name="rtt",
    shows="Latest round-trip time of each flow against time, with the RTT of the empty path.",
    needs=("samples",),
    draw=draw,
    of="point",
)
