"""Goodput and fairness against a quantity of the network that varies."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import altair as alt
import polars as pl
from altair.utils.schemapi import UndefinedType

from tussle.errors import TussleError, argument
from tussle.figures._figure import Chart, View
from tussle.figures._link import above_link
from tussle.figures._palette import algorithm_colour
from tussle.figures._quantity import medians, quantity
from tussle.figures._series import inline
from tussle.figures._style import Y_AXIS_PX, layered, levels, sized, stacked
from tussle.figures._words import dashes, sets_of_flows
from tussle.metrics import Tables

_MOST_LINES = 8
"""More lines cannot be distinguished, nor named in a legend."""
_PAIR = 2
_MOST_TICKS = 9
_DOT = 0.02
"""Radius of a dot, as a part of the height of a panel."""
_LEGEND = {
    "orient": "top",
    "title": None,
    "columns": 3,
    "symbolType": "stroke",
    "symbolSize": 400,
    "labelLimit": 0,
}
_GOODPUT = alt.Y(
    "value",
    type="quantitative",
    title="goodput, all flows (Mbit/s)",
    scale=alt.Scale(domainMin=0),
    axis=alt.Axis(minExtent=Y_AXIS_PX),
)
_FAIRNESS = alt.Y(
    "value",
    type="quantitative",
    title="Jain index",
    scale=alt.Scale(domainMax=1, zero=False),
    axis=alt.Axis(minExtent=Y_AXIS_PX, tickCount=4),
)


@dataclass(frozen=True)
class Over:
    """The setting that varies along the horizontal axis."""

    name: str
    """Name in a sentence: "buffer"."""
    title: str
    """Title of the axis, with its unit."""
    key: str
    """Key in scenarios, which names the axis."""
    values: Callable[[Tables], pl.DataFrame]
    """`point, x`, in the unit of the title; no row where a point has none."""
    scale: Callable[[pl.Series], alt.Scale]
    """Returns the scale of the axis for these values."""


def draw_over(tables: Tables, view: View, over: Over) -> Chart:
    """Draw the goodput of all flows together above Jain's index, a line for each set of algorithms."""
    shown = _lines(tables, over)
    if view.point is not None:
        raise TussleError(f"a figure over the {over.name} shows all points; leave out {argument('point')}")
    if shown["x"].n_unique() < _PAIR:
        raise TussleError(
            f"this dataset has no two values of the {over.name}; give a list of them in the scenario, "
            f"in {over.key}"
        )
    names = shown["line"].unique(maintain_order=True).to_list()
    if len(names) > _MOST_LINES:
        raise TussleError(
            f"this dataset has {len(names)} sets of flows, too many for one figure over the {over.name}; "
            f"at most {_MOST_LINES} fit"
        )
    x = alt.X("x", type="quantitative", title=over.title, scale=over.scale(shown["x"]))
    x = x.axis(format="~g", labelOverlap=True, values=ticks(shown["x"]))
    goodput = _values(tables, "total", shown)
    chart = sized(layered(*_link(tables), *_curves(goodput, x, _GOODPUT)), view.width_px, 0.36)
    has_bars = _has_bars(goodput, 0)
    if tables.flows.select(pl.col("flow").max()).collect().item():
        fairness = _values(tables, "jain", shown)
        chart = stacked(chart, sized(layered(*_curves(fairness, x, _FAIRNESS)), view.width_px, 0.2))
        has_bars |= _has_bars(fairness, fairness["low"].min())
    remarks = [
        names[0] if len(names) == 1 else "",
        "medians; bars: quartiles over the repetitions" if has_bars else "",
        above_link(tables, goodput["value"] * 1e6),
    ]
    shown_remarks = [remark for remark in remarks if remark]
    title = alt.TitleParams(
        f"Goodput and fairness over the {over.name}", subtitle=shown_remarks or alt.Undefined
    )
    return chart.properties(title=title)


def ticks(values: pl.Series) -> list[float] | UndefinedType:
    """Return the values as ticks of the axis if they are few; else the axis chooses."""
    found = values.unique().sort().to_list()
    return found if len(found) <= _MOST_TICKS else alt.Undefined


def _link(tables: Tables) -> list[alt.Chart]:
    rates = tables.runs.select("link_rate_bit_per_s").unique().collect()["link_rate_bit_per_s"].to_list()
    return levels({"link": rates[0] / 1e6}) if len(rates) == 1 and rates[0] else []


def _curves(values: pl.DataFrame, x: alt.X, y: alt.Y) -> list[alt.Chart]:
    chart = alt.Chart(inline(values))
    encoding = _encoding(values)
    curves = chart.mark_line(strokeWidth=1.8, point=alt.OverlayMarkDef(size=34)).encode(x, y, *encoding)
    bars = chart.mark_rule(strokeWidth=1.2).encode(
        x, alt.Y("low", type="quantitative"), alt.Y2("high"), encoding[0]
    )
    return [bars, curves]


def _lines(tables: Tables, over: Over) -> pl.DataFrame:
    """Return `point, line, algorithm, x`: the line of each point, and its x."""
    lines = sets_of_flows(tables, (".algorithm", over.key)).rename({"set": "line"})
    return lines.join(over.values(tables).drop_nulls("x"), on="point").sort("point")


def _values(tables: Tables, metric: str, shown: pl.DataFrame) -> pl.DataFrame:
    values = medians(quantity(metric, tables), tables).join(shown, on="point").sort("line", "x")
    return values.select("line", "algorithm", "x", pl.col("value", "low", "high").round_sig_figs(5))


def _encoding(values: pl.DataFrame) -> list[alt.Color | alt.StrokeDash]:
    """Give each line the colour of its first algorithm, and dashes that differ from the others'."""
    lines = values.select("line", "algorithm").unique(maintain_order=True)
    names, algorithms = lines["line"].to_list(), lines["algorithm"].to_list()
    legend = alt.Legend(**_LEGEND) if len(names) > 1 else None
    strokes = [list(dash) or [1, 0] for dash in dashes(algorithms)]
    colours = alt.Scale(domain=names, range=[algorithm_colour(each) for each in algorithms])
    return [
        alt.Color("line", type="nominal", scale=colours, legend=legend),
        alt.StrokeDash("line", type="nominal", scale=alt.Scale(domain=names, range=strokes), legend=legend),
    ]


def _has_bars(values: pl.DataFrame, least: Any) -> bool:
    """Return whether a bar can be seen beyond its dot, on an axis that begins at `least`."""
    bars = pl.max_horizontal(pl.col("high") - pl.col("value"), pl.col("value") - pl.col("low"))
    return bool(values.select((bars > _DOT * (pl.col("high").max() - least)).any()).item())
