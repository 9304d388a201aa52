"""Congestion window of each flow, and the queue that they make, against time."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.figures._buffer import PACKET_BITS
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import QUEUE
from tussle.figures._panels import Panels, each_point
from tussle.figures._series import inline, thin, thin_flows
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
from tussle.figures._words import lines
from tussle.metrics import Tables
from tussle.scenario.bottleneck import BOTTLENECK

_MOST_ROWS = 10_000
"""Most rows of all windows together: more are slow to draw and add nothing visible."""
_SHADED = "shaded: the measured interval"


def draw(tables: Tables, view: View) -> Chart:
    """Draw windows and thresholds, and the bottleneck's queue below, for each point."""
    flows = tables.flows.select(pl.col("flow").n_unique()).collect().item()
    remark = _SHADED if is_crowd(flows) else f"thin lines: slow start threshold; {_SHADED}"
    return each_point(tables, view, Panels("Window and queue", remark, _panel))


def _panel(tables: Tables, view: View) -> Chart:
    windows = sized(_windows(tables, view), view.width_px, 0.36)
    queue = sized(_queue(tables, view), view.width_px, 0.18)
    return stacked(windows, queue)


def _windows(tables: Tables, view: View) -> alt.LayerChart:
    look, interval = lines(tables), shown_interval(tables, view)
    started = (
        tables.samples.join(tables.flows.select("flow", "start_s"), on="flow")
        .filter(pl.col("time_s") >= pl.col("start_s"), pl.col("time_s").is_between(*interval))
        .select("flow", "time_s", "cwnd_packets", "ssthresh_packets")
        .sort("flow", "time_s")
        .collect()
    )
    refuse_nothing(started, view)
    most_rows = min(view.most_rows, _MOST_ROWS // len(look))
    shown = thin_flows(started, "cwnd_packets", most_rows).select(
        *flow_columns(look),
        pl.col("time_s").round(4),
        pl.col("cwnd_packets").alias("window_packets"),
        pl.col("ssthresh_packets").alias("threshold_packets"),
    )
    chart = alt.Chart(inline(shown))
    common = (time_axis(interval).title(None), *flow_encoding(look))
    curves = chart.mark_line(strokeWidth=1.6, clip=True).encode(_packets("window_packets", "cwnd"), *common)
    thresholds = (
        chart.mark_line(strokeWidth=0.8, opacity=0.7, interpolate="step-after", clip=True)
        .transform_filter("isValid(datum.threshold_packets) && datum.threshold_packets !== ''")
        .encode(_packets("threshold_packets", "cwnd"), *common)
    )
    shown_thresholds = [] if is_crowd(len(look)) else [thresholds]
    return layered(measured(tables, interval), *shown_thresholds, curves, *_guides(tables))


def _packets(column: str, name: str) -> alt.Y:
    axis = {"minExtent": Y_AXIS_PX, "tickCount": 5 if name == "cwnd" else 3}
    return alt.Y(column, type="quantitative", title=f"{name} (packets)", scale={"domainMin": 0}, axis=axis)


def _guides(tables: Tables) -> list[alt.Chart]:
    """Mark the bandwidth-delay product, and its sum with the buffer."""
    row = tables.runs.select("link_rate_bit_per_s", "base_rtt_ms", "buffer_packets").collect()
    rate, rtt_ms, buffer_packets = row.row(0)
    if rate is None or rtt_ms is None:
        return []
    bdp_packets = rate * rtt_ms / 1e3 / PACKET_BITS
    if buffer_packets is None:
        return levels({"BDP": bdp_packets})
    return levels({"BDP": bdp_packets, "BDP + buffer": bdp_packets + buffer_packets})


def _queue(tables: Tables, view: View) -> alt.LayerChart:
    interval = shown_interval(tables, view)
    links = (
        tables.links.filter(pl.col("link") == BOTTLENECK, pl.col("time_s").is_between(*interval))
        .select("time_s", "mean_backlog_packets", "max_backlog_packets")
        .sort("time_s")
        .collect()
    )
    shown = thin(links, "max_backlog_packets", view.most_rows).select(
        pl.col("time_s").round(4),
        pl.col("mean_backlog_packets").round(1).alias("mean_packets"),
        pl.col("max_backlog_packets").alias("largest_packets"),
    )
    chart = alt.Chart(inline(shown))
    mean = chart.mark_area(color=QUEUE, opacity=0.45, clip=True)
    largest = chart.mark_line(color=QUEUE, strokeWidth=0.8, clip=True)
    buffer_packets = tables.runs.select("buffer_packets").collect().item()
    limit = [] if buffer_packets is None else levels({"buffer": buffer_packets})
    return layered(
        measured(tables, interval),
        mean.encode(time_axis(interval), _packets("mean_packets", "queue")),
        largest.encode(time_axis(interval), _packets("largest_packets", "queue")),
        *limit,
    )


FIGURE = Figure(
    name="window",
    shows="Congestion window and slow start threshold of each flow, and below them the bottleneck's queue "
    "(shaded: mean, line: largest), against time; with guide lines at the bandwidth-delay product, at it "
    "plus the buffer, and at the buffer.",
    needs=("samples", "links"),
    draw=draw,
    of="point",
)
