"""Algorithms ranked by their share, or by another metric."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import GUIDE, algorithm_colour
from tussle.figures._quantity import Quantity, medians, quantity
from tussle.figures._series import inline
from tussle.figures._style import layered
from tussle.metrics import Tables, pairs

_ROW_PX = 24
_SEVERAL = 2


def draw(tables: Tables, view: View) -> Chart:
    """Draw a row for each algorithm: a dot for each flow of it, and a tick at their median."""
    chosen = quantity(view.metric or "share", tables)
    if not chosen.is_of_flows:
        raise TussleError(
            f"a ranking of algorithms needs a metric of flows; the {chosen.words} is a metric of runs"
        )
    shown, remark = _values(tables, chosen)
    if view.point is not None:
        shown = shown.filter(pl.col("point") == view.point)
    names = shown["algorithm"].unique(maintain_order=True).to_list()
    if len(names) < _SEVERAL:
        raise TussleError(
            "a ranking needs flows of two algorithms or more; compare some, as `tussle matrix` does"
        )
    colours = alt.Scale(domain=names, range=[algorithm_colour(name) for name in names])
    order = alt.EncodingSortField(field="value", op="median", order="descending")
    row = alt.Y("algorithm", type="nominal", title=None, sort=order).axis(
        grid=True, domain=False, ticks=False
    )
    x = alt.X("value", type="quantitative", title=chosen.title, scale=alt.Scale(nice=True))
    base = alt.Chart(inline(shown.drop("point"))).encode(row)
    dots = base.mark_point(size=36, strokeWidth=1.3, opacity=0.75).encode(
        x, alt.Color("algorithm", type="nominal", scale=colours, legend=None)
    )
    ticks = base.mark_tick(color=GUIDE, thickness=3, size=_ROW_PX - 6).encode(
        alt.X("value", type="quantitative", aggregate="median", title=chosen.title)
    )
    title = alt.TitleParams(f"Ranking by {chosen.words}", subtitle=remark)
    return layered(dots, ticks).properties(width=view.width_px, height=_ROW_PX * len(names), title=title)


def _values(tables: Tables, chosen: Quantity) -> tuple[pl.DataFrame, str]:
    """Return `point, algorithm, value` of each flow; with pairs, only those of different algorithms."""
    runs = tables.runs.select("run", "point")
    flows = tables.flows.join(runs, on="run").select("point", "flow", "algorithm").unique().collect()
    values = medians(chosen, tables).join(flows, on=["point", "flow"]).sort("point", "flow")
    kept = "point", "algorithm", pl.col("value").round_sig_figs(5)
    mixed = pairs(tables).filter(pl.col("first") != pl.col("second"))
    if mixed.is_empty():
        return values.select(kept), "dots: flows; bars: medians"
    against = values.join(mixed, on="point", how="semi").sort("point", "flow").select(kept)
    return against, "dots: flows against each other algorithm, in both orders; bars: medians"


FIGURE = Figure(
    name="ranking",
    shows="Algorithms ranked by the median of a metric, by default their share: a dot for each flow, "
    "against each other algorithm where pairs are compared, and a bar at the median.",
    needs=(),
    draw=draw,
    metric="share",
)
