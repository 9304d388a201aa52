"""Use of the link early and late in a run."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import algorithm_colour
from tussle.figures._series import inline
from tussle.figures._style import layered, levels
from tussle.figures._words import sets_of_flows
from tussle.metrics import REGISTRY, Tables, summarise

_BAR_PX = 13
_GAP_PX = 16
_HEIGHT_PX = 240
_MOST_GROUPS = 30
_TILTED_FROM = 7
_LIGHTEST = 0.25


def draw(tables: Tables, view: View) -> Chart:
    """Draw a bar for each decade of time, a group of them for each set of flows."""
    groups = sets_of_flows(tables, (".algorithm", ".count")).rename({"set": "group"})
    if view.point is not None:
        groups = groups.filter(pl.col("point") == view.point)
    if groups.height > _MOST_GROUPS:
        raise TussleError(
            f"there are {groups.height} points here, and {_MOST_GROUPS} fit; choose one with "
            f"{argument('point')}"
        )
    decade = pl.format("{} to {} s", _short("from_s"), _short("to_s")).alias("decade")
    goodput = (pl.col("goodput_bit_per_s") / 1e6).round_sig_figs(5).alias("goodput_mbit_per_s")
    shown = (
        summarise(REGISTRY["goodput_by_decade"], tables)
        .join(groups, on="point")
        .sort("point", "from_s")
        .select("group", "algorithm", decade, "from_s", goodput)
    )
    if shown.is_empty():
        raise TussleError(f"there is no point {view.point} in this dataset")
    width_px = shown["group"].n_unique() * (shown["decade"].n_unique() * _BAR_PX + _GAP_PX)
    rates = tables.runs.select("link_rate_bit_per_s").unique().collect()["link_rate_bit_per_s"].to_list()
    link = levels({"link": rates[0] / 1e6}) if len(rates) == 1 and rates[0] else []
    title = alt.TitleParams(
        "Goodput early and late", subtitle="all flows together; medians of the repetitions"
    )
    drawn = layered(*_bars(shown), *link)
    return drawn.properties(width=width_px, height=_HEIGHT_PX, title=title)


def _bars(shown: pl.DataFrame) -> list[alt.Chart]:
    groups = shown["group"].unique(maintain_order=True).to_list()
    decades = shown.sort("from_s")["decade"].unique(maintain_order=True).to_list()
    colours = shown.select("algorithm").unique(maintain_order=True)["algorithm"].to_list()
    steps = max(1, len(decades) - 1)
    shades = [round(1 - (1 - _LIGHTEST) * place / steps, 3) for place in range(len(decades))]
    angle = -40 if len(groups) >= _TILTED_FROM else 0
    x = alt.X("group", type="nominal", title=None, sort=groups, axis=alt.Axis(labelAngle=angle, labelLimit=0))
    scale = alt.Scale(domain=colours, range=[algorithm_colour(name) for name in colours])
    opacity = alt.Opacity(
        "decade",
        type="nominal",
        sort=decades,
        scale=alt.Scale(type="ordinal", domain=decades, range=shades),
        legend=alt.Legend(
            orient="top", title=None, symbolType="square", symbolFillColor="black", symbolStrokeWidth=0
        ),
    )
    y = alt.Y("goodput_mbit_per_s", type="quantitative", title="goodput, all flows (Mbit/s)")
    colour = alt.Color("algorithm", type="nominal", scale=scale, legend=None)
    offset = alt.XOffset("decade", type="nominal", sort=decades)
    goodput = alt.Tooltip("goodput_mbit_per_s", type="quantitative", title="goodput, all flows (Mbit/s)")
    tooltips = [alt.Tooltip("group", type="nominal"), alt.Tooltip("decade", type="nominal"), goodput]
    base = alt.Chart(inline(shown.drop("from_s"))).encode(x, offset, y, tooltip=tooltips)
    # White bars are behind the others, so that the grid does not show through light colours.
    return [base.mark_bar(fill="white"), base.mark_bar().encode(colour, opacity)]


def _short(column: str) -> pl.Expr:
    return pl.col(column).map_elements("{:g}".format, pl.String)


FIGURE = Figure(
    name="decades",
    shows="Goodput of all flows together from 1 to 10 s, from 10 to 100 s and so on, until the end of the "
    "run: a group of bars for each set of flows, a bar for each decade.",
    needs=("samples",),
    draw=draw,
)
