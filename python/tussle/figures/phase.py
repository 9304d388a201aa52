"""Rates of two flows against each other."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._link import above_link
from tussle.figures._palette import AMOUNTS, GUIDE
from tussle.figures._panels import Panels, each_point
from tussle.figures._series import inline
from tussle.figures._style import INTERVAL, Y_AXIS_PX, layered, shown_interval
from tussle.figures._words import lines
from tussle.metrics import REGISTRY, Tables

_PAIR = 2
_MOST_PX = 340
_ROOM = 1.02
"""Margin of the axes, so that the outermost dot is whole."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw the goodput of the second flow against that of the first, for each point."""
    counts = tables.flows.group_by("run").len().collect()["len"].unique().to_list()
    if counts != [_PAIR]:
        raise TussleError("a phase plot needs runs of two flows each")
    remark = "dots: intervals, darker with time; dashed: both get the same"
    if not tables.runs.filter(pl.col("link_rate_bit_per_s").is_not_null()).collect().is_empty():
        remark += "; dotted: the link is full"
    return each_point(tables, view, Panels("Phase of two flows", remark, _panel, _caution))


def _panel(tables: Tables, view: View) -> Chart:
    first, second = lines(tables)
    shown = _rates(tables, view)
    rate = tables.runs.select("link_rate_bit_per_s").collect().item()
    rates = pl.col("first_mbit_per_s", "second_mbit_per_s")
    largest = shown.select(pl.max_horizontal(rates.max())).item() or 1
    link = rate / 1e6 if rate else largest
    scale = {"domain": [0, max(link, largest * _ROOM)], "nice": False}
    base = alt.Chart(inline(shown)).encode(
        alt.X("first_mbit_per_s", type="quantitative", title=f"{first.label} (Mbit/s)", scale=scale),
        alt.Y(
            "second_mbit_per_s",
            type="quantitative",
            title=f"{second.label} (Mbit/s)",
            scale=scale,
            axis={"minExtent": Y_AXIS_PX},
        ),
    )
    trail = base.mark_line(color=GUIDE, strokeWidth=0.8, opacity=0.6, clip=True).encode(
        alt.Order("time_s", type="quantitative")
    )
    colour = alt.Color(
        "time_s",
        type="quantitative",
        title="time (s)",
        scale={"range": list(AMOUNTS[2:])},
        legend={"orient": "right", "gradientLength": 120, "gradientThickness": 10},
    )
    dots = base.mark_circle(size=22, opacity=1, clip=True, tooltip=True).encode(colour)
    side = min(view.width_px, _MOST_PX)
    guides = _guides(link)[: _PAIR if rate else 1]
    return layered(*guides, trail, dots).properties(width=side, height=side)


def _rates(tables: Tables, view: View) -> pl.DataFrame:
    """Return `time_s, first_mbit_per_s, second_mbit_per_s` while both flows run."""
    start, end = shown_interval(tables, view)
    series = REGISTRY["goodput_over_time"].compute(tables).filter(pl.col("time_s").is_between(start, end))
    flows = series["flow"].unique().sort()
    parts = [
        series.filter(pl.col("flow") == flow).select(
            pl.col("time_s").round(4), (pl.col("goodput_bit_per_s") / 1e6).round_sig_figs(4).alias(name)
        )
        for flow, name in zip(flows, ("first_mbit_per_s", "second_mbit_per_s"), strict=False)
    ]
    if len(parts) < _PAIR:
        raise TussleError(
            f"there is no time at which both flows run; choose another with {argument(*INTERVAL)}"
        )
    return parts[0].join(parts[1], on="time_s").sort("time_s")


def _caution(tables: Tables, view: View) -> str:
    together = pl.sum_horizontal("first_mbit_per_s", "second_mbit_per_s") * 1e6
    return above_link(tables, _rates(tables, view).select(together).to_series())


def _guides(most: float) -> list[alt.Chart]:
    """Draw the line of equal goodputs, and the line on which both together fill the link."""
    fair = pl.DataFrame({"guide_x": [0.0, most], "guide_y": [0.0, most]})
    full = pl.DataFrame({"guide_x": [0.0, most], "guide_y": [most, 0.0]})
    return [
        alt.Chart(inline(ends))
        .mark_line(color=GUIDE, strokeDash=dash, strokeWidth=1.2)
        .encode(alt.X("guide_x", type="quantitative"), alt.Y("guide_y", type="quantitative"))
        for ends, dash in ((fair, [6, 4]), (full, [1.5, 3]))
    ]


FIGURE = Figure(
    name="phase",
    shows="Goodput of the second flow against that of the first over time, with the line on which both get "
    "the same and the one on which both together fill the link (after Chiu and Jain, 1989).",
    needs=("samples",),
    draw=draw,
    of="point",
)
