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
    is_crowd,
    layered,
    levels,
    measured,
    refuse_nothing,
    shown_interval,
    sized,
    stacked,
    time_axis,
)
from tussle.figures._words import Line, lines
from tussle.metrics import Tables

_MOST_ROWS = 10_000
"""Most rows of all flows together: more are slow to draw and add nothing visible."""
_OF_SEVERAL = 0.7
"""Height of one panel of several, as a fraction of that of a single panel."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw the latest round-trip time of each flow of each point against time."""
    return each_point(tables, view, Panels("RTT against time", "shaded: the measured interval", _panel))


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
        raise TussleError("no RTT was measured in this run")
    most_rows = min(view.most_rows, _MOST_ROWS // len(look))
    series = thin_flows(measurements, "rtt_ms", most_rows)
    axis, scale = {"minExtent": Y_AXIS_PX}, {"domain": [0, series["rtt_ms"].max()], "nice": True}
    rtt = alt.Y("rtt_ms", type="quantitative", title="RTT (ms)", scale=scale, axis=axis)
    base_ms = tables.runs.select("base_rtt_ms").collect().item()
    guides = [] if base_ms is None else levels({"base RTT": base_ms})
    rows = _rows(look)
    panels = []
    for row in rows:
        shown = series.filter(pl.col("flow").is_in([line.flow for line in row])).select(
            *flow_columns(look), pl.col("time_s").round(4), pl.col("rtt_ms").round_sig_figs(4)
        )
        time = time_axis(interval).title("time (s)" if row is rows[-1] else None)
        chart = alt.Chart(inline(shown)).mark_line(strokeWidth=1.4, clip=True)
        curves = chart.encode(time, rtt, *flow_encoding(look))
        panel = sized(layered(measured(tables, interval), curves, *guides), view.width_px, 0.3)
        panels.append(panel if len(rows) == 1 else _named(panel, row))
    return panels[0] if len(panels) == 1 else stacked(*panels)


def _rows(look: list[Line]) -> list[list[Line]]:
    """Give each flow of an algorithm a row of its own, unless there are too many flows.

    They wait in one queue, so that their curves lie on each other, where one colour hides all but the last.
    """
    if is_crowd(len(look)):
        return [look]
    rows: list[list[Line]] = []
    for line in look:
        free = (row for row in rows if line.algorithm not in [each.algorithm for each in row])
        row = next(free, None)
        rows.append([line]) if row is None else row.append(line)
    return rows


def _named(panel: alt.LayerChart, row: list[Line]) -> alt.LayerChart:
    panel.height = round(panel.height * _OF_SEVERAL)
    panel.title = alt.TitleParams(
        ", ".join(line.label for line in row), fontSize=12, fontWeight="normal", offset=4
    )
    return panel


FIGURE = Figure(
    name="rtt",
    shows="Latest round-trip time of each flow against time, with the RTT of the empty path; flows of one "
    "algorithm, whose curves would overlap, have separate panels.",
    needs=("samples",),
    draw=draw,
    of="point",
)
