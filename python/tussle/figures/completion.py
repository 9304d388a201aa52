"""Completion time of flows against their size."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import GUIDE, algorithm_colour, algorithm_shape
from tussle.figures._series import inline
from tussle.figures._style import Y_AXIS_PX, layered, sized
from tussle.metrics import REGISTRY, Tables


def draw(tables: Tables, view: View) -> Chart:
    """Draw a point for each flow and run that was completed, and a line through the medians."""
    runs = tables.runs.select("run", "point")
    flows = tables.flows.select("run", "flow", "algorithm").join(runs, on="run").collect()
    times = REGISTRY["completion"].compute(tables).join(flows, on=["run", "flow"]).sort("run", "flow")
    if view.point is not None:
        times = times.filter(pl.col("point") == view.point)
    shown = times.drop_nulls("completion_s").select(
        "algorithm",
        (pl.col("size_bytes") / 1e3).alias("size_kb"),
        pl.col("completion_s").round_sig_figs(5),
    )
    if shown.is_empty():
        raise TussleError(f"no flow of point {view.point} was completed; choose another point")
    names = shown["algorithm"].unique(maintain_order=True).to_list()
    legend = alt.Legend(title=None, orient="right", symbolSize=70) if len(names) > 1 else None
    colours = alt.Scale(domain=names, range=[algorithm_colour(name) for name in names])
    shapes = alt.Scale(domain=names, range=[algorithm_shape(name) for name in names])
    colour = alt.Color("algorithm", type="nominal", scale=colours, legend=legend)
    size = alt.X("size_kb", type="quantitative", title="size (kB)").scale(type="log", nice=False, padding=8)
    time = alt.Y("completion_s", type="quantitative", title="completion time (s)").scale(
        type="log", padding=8
    )
    time = time.axis(minExtent=Y_AXIS_PX, format="~g")
    chart = alt.Chart(inline(shown))
    points = chart.mark_point(size=40, strokeWidth=1.6).encode(
        size.axis(format="~f", tickCount=6),
        time,
        colour,
        alt.Shape("algorithm", type="nominal", scale=shapes, legend=legend),
    )
    medians = chart.mark_line(strokeWidth=1, opacity=0.7).encode(
        size,
        alt.Y("completion_s", type="quantitative", aggregate="median", title="completion time (s)"),
        colour,
    )
    title = alt.TitleParams("Completion time against size", subtitle=_remark(len(times) - len(shown)))
    parts = [*_link(tables, shown), medians, points]
    return sized(layered(*parts), view.width_px, 0.5).properties(title=title)


def _link(tables: Tables, shown: pl.DataFrame) -> list[alt.Chart]:
    """Draw the transmission times of these sizes at the rate of the link."""
    rates = tables.runs.select("link_rate_bit_per_s").unique().collect()["link_rate_bit_per_s"].to_list()
    if len(rates) != 1 or not rates[0]:
        return []
    sizes = pl.Series([shown["size_kb"].min(), shown["size_kb"].max()], dtype=pl.Float64)
    ends = pl.DataFrame({"guide_kb": sizes, "guide_s": sizes * 8e3 / rates[0]})
    line = alt.Chart(inline(ends)).mark_line(color=GUIDE, strokeDash=[4, 3], strokeWidth=1)
    return [line.encode(alt.X("guide_kb", type="quantitative"), alt.Y("guide_s", type="quantitative"))]


def _remark(left: int) -> str:
    parts = ["lines: medians", "dashed: transmission time on the link"]
    return "; ".join([*parts, f"{left} flows did not end within their runs"] if left else parts)


FIGURE = Figure(
    name="completion",
    shows="Completion time of each flow that ends against its size, both on logarithmic axes, with the "
    "medians by algorithm and the transmission time on the link.",
    needs=(),
    draw=draw,
)
