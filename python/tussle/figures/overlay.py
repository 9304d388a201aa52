"""One point of several datasets over each other, such as of two engines, or of several kernels."""

from __future__ import annotations

from dataclasses import dataclass

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._link import above_link
from tussle.figures._palette import GUIDE, QUEUE
from tussle.figures._series import inline, thin
from tussle.figures._style import (
    Y_AXIS_PX,
    layered,
    refuse_nothing,
    shown_interval,
    sized,
    stacked,
    time_axis,
)
from tussle.figures._words import Line, flows_in_words, lines, network_in_words
from tussle.metrics import REGISTRY, Tables, representative_runs, select_runs
from tussle.scenario.bottleneck import BOTTLENECK

_MOST_FLOWS = 4
_DASH = [5, 3]
_DASHES = ([1, 0], _DASH, [2, 2], [8, 2, 2, 2])
"""Dashes of several datasets, for readers without colours; they repeat."""
_COLOURS = {"name": "viridis", "extent": [0.0, 0.8]}
"""Colours of several datasets: other than those of algorithms, and dark enough for a white page."""


@dataclass(frozen=True)
class _Kind:
    """The quantity that a panel shows."""

    title: str
    column: str
    aspect: float


_WINDOW = _Kind("cwnd (packets)", "cwnd_packets", 0.22)
_GOODPUT = _Kind("goodput (Mbit/s)", "goodput_mbit_per_s", 0.16)
_QUEUE = _Kind("queue (packets)", "queue_packets", 0.16)
_MOST_ROWS = 1000
_TWO = 2

Named = dict[str, pl.DataFrame]
"""A series of each dataset, by the dataset's name."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw window and goodput of each flow of a point, and the queue, from this dataset and the others."""
    if view.beside is None:
        raise TussleError(f"an overlay needs two datasets; give the second one with {argument('beside')}")
    others = (view.beside, *view.further)
    names = [view.beside.first_name, *(other.name for other in others)]
    if len(set(names)) < len(names):
        raise TussleError(f"two of these datasets are the same, or have the same name: {', '.join(names)}")
    point = view.point or 0
    first = _run(tables, point, names[0])
    runs = [first, *(_run_beside(other.tables, first, other.name) for other in others)]
    first_lines = lines(first)
    for name, run in zip(names[1:], runs[1:], strict=True):
        if [line.algorithm for line in lines(run)] != [line.algorithm for line in first_lines]:
            raise TussleError(
                f"point {point} is not the same in all: {flows_in_words(first)} in {names[0]}, "
                f"{flows_in_words(run)} in {name}"
            )
    if len(first_lines) > _MOST_FLOWS:
        raise TussleError(
            f"an overlay shows at most {_MOST_FLOWS} flows, and there are {len(first_lines)} here"
        )
    interval = shown_interval(first, view)
    series = {
        kind: [_series(run, kind).filter(pl.col("time_s").is_between(*interval)) for run in runs]
        for kind in (_WINDOW, _GOODPUT, _QUEUE)
    }
    refuse_nothing(pl.concat(series[_WINDOW]), view)
    most_rows = min(view.most_rows, _MOST_ROWS)
    of_flows = [
        (kind, line, [each.filter(pl.col("flow") == line.flow) for each in series[kind]])
        for line in first_lines
        for kind in (_WINDOW, _GOODPUT)
    ]
    panels = [
        sized(
            _panel(_named(names, [_thinned(each, kind, most_rows) for each in found]), line, kind),
            view.width_px,
            kind.aspect,
        )
        for kind, line, found in [*of_flows, (_QUEUE, None, series[_QUEUE])]
    ]
    for panel in panels:
        for layer in panel.layer:
            layer.encoding.x = time_axis(interval).title("time (s)" if panel is panels[-1] else None)
    cautions = (
        above_link(run, each[_GOODPUT.column] * 1e6) for run, each in zip(runs, series[_GOODPUT], strict=True)
    )
    remarks = [network_in_words(first)]
    if len(names) == _TWO:
        remarks.append(f"in colour: {names[0]}; grey and dashed: {names[1]}")
    title = alt.TitleParams(
        f"{', '.join(names[:-1])} and {names[-1]}: {flows_in_words(first)}",
        subtitle=[*remarks, *dict.fromkeys(filter(None, cautions))],
    )
    return stacked(*panels).properties(title=title)


def _run(tables: Tables, point: int, name: str) -> Tables:
    chosen = [run for each, run in representative_runs(tables).iter_rows() if each == point]
    if not chosen:
        raise TussleError(f"there is no point {point} in {name}; choose one that both datasets have")
    return select_runs(tables, chosen)


def _run_beside(tables: Tables, first: Tables, name: str) -> Tables:
    """Choose the repetition with the seed of the first dataset's run, else the point's representative."""
    point, repetition = first.runs.select("point", "repetition").collect().row()
    same = (pl.col("point") == point) & (pl.col("repetition") == repetition)
    chosen = tables.runs.filter(same).select("run").collect()["run"].to_list()
    return select_runs(tables, chosen) if chosen else _run(tables, point, name)


def _series(run: Tables, kind: _Kind) -> pl.DataFrame:
    """Return `time_s` and the column of the kind, for flows also `flow`, sorted."""
    if kind is _GOODPUT:
        goodput = (pl.col("goodput_bit_per_s") / 1e6).round_sig_figs(4).alias(kind.column)
        return REGISTRY["goodput_over_time"].compute(run).select("flow", pl.col("time_s").round(4), goodput)
    if kind is _QUEUE:
        links = run.links.filter(pl.col("link") == BOTTLENECK, pl.col("mean_backlog_packets").is_not_null())
        backlog = pl.col("mean_backlog_packets").round(1).alias(kind.column)
        return links.select(pl.col("time_s").round(4), backlog).sort("time_s").collect()
    windows = run.samples.join(run.flows.select("flow", "start_s"), on="flow")
    started = windows.filter(pl.col("time_s") >= pl.col("start_s"), pl.col(kind.column).is_not_null())
    return started.select("flow", pl.col("time_s").round(4), kind.column).sort("flow", "time_s").collect()


def _thinned(series: pl.DataFrame, kind: _Kind, most_rows: int) -> pl.DataFrame:
    return thin(series.select("time_s", kind.column), kind.column, most_rows)


def _named(names: list[str], series: list[pl.DataFrame]) -> Named:
    return dict(zip(names, series, strict=True))


def _panel(series: Named, line: Line | None, kind: _Kind) -> alt.LayerChart:
    """Draw the series of one flow, or of the queue, from all datasets."""
    title = [line.label, kind.title] if line and kind is _WINDOW else kind.title
    y = alt.Y(kind.column, type="quantitative", title=title, scale=alt.Scale(domainMin=0))
    y = y.axis(minExtent=Y_AXIS_PX, tickCount=4)
    if len(series) > _TWO:
        return layered(_several(series, y))
    marks = (
        {"color": line.colour if line else QUEUE, "strokeWidth": 1.8},
        {"color": GUIDE, "strokeDash": _DASH, "strokeWidth": 1.4},
    )
    charts = [
        alt.Chart(inline(each)).mark_line(clip=True, **look).encode(y)
        for each, look in zip(series.values(), marks, strict=True)
    ]
    return layered(*charts)


def _several(series: Named, y: alt.Y) -> alt.Chart:
    """Draw a series of each dataset with a colour and dashes of its own."""
    names = list(series)
    marked = [each.with_columns(pl.lit(name).alias("dataset")) for name, each in series.items()]
    strokes = [_DASHES[index % len(_DASHES)] for index in range(len(names))]
    legend = alt.Legend(title=None, orient="top", columns=4, symbolType="stroke", labelLimit=0)
    colour = alt.Color("dataset:N", scale=alt.Scale(domain=names, scheme=_COLOURS), legend=legend)
    dash = alt.StrokeDash("dataset:N", scale=alt.Scale(domain=names, range=strokes), legend=legend)
    return alt.Chart(inline(pl.concat(marked))).mark_line(clip=True, strokeWidth=1.6).encode(y, colour, dash)


FIGURE = Figure(
    name="overlay",
    shows="Congestion window and goodput of each flow of one point, and the bottleneck's queue, from two "
    "or more datasets over each other, such as the simulator's and the kernel's.",
    needs=("samples", "links"),
    draw=draw,
    of="several datasets",
)
