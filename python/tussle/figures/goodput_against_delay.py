"""Goodput of each flow against the 95th percentile of its round-trip times."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import GUIDE, algorithm_colour, algorithm_shape
from tussle.figures._quantity import medians, quantity
from tussle.figures._series import inline
from tussle.figures._style import Y_AXIS_PX, layered, sized
from tussle.figures._words import network_in_words
from tussle.metrics import Tables


def draw(tables: Tables, view: View) -> Chart:
    """Draw a point for each flow of each point; medians over the repetitions."""
    shown = _flows(tables)
    if view.point is not None:
        shown = shown.filter(pl.col("point") == view.point)
    if shown.is_empty():
        raise TussleError("no flow of this dataset has both a goodput and a measured round-trip time.")
    names = shown["algorithm"].unique(maintain_order=True).to_list()
    legend = alt.Legend(title=None, orient="right", symbolSize=70)
    colours = alt.Scale(domain=names, range=[algorithm_colour(name) for name in names])
    shapes = alt.Scale(domain=names, range=[algorithm_shape(name) for name in names])
    chart = alt.Chart(inline(shown.drop("point", "flow")))
    points = chart.mark_point(filled=True, size=48, opacity=0.8, strokeWidth=0).encode(
        alt.X("rtt_p95_ms", type="quantitative", title="95th percentile of the RTT (ms)").scale(zero=False),
        alt.Y("goodput_mbit_per_s", type="quantitative", title="goodput (Mbit/s)")
        .scale(domainMin=0, nice=True)
        .axis(minExtent=Y_AXIS_PX),
        alt.Color("algorithm", type="nominal", scale=colours, legend=legend),
        alt.Shape("algorithm", type="nominal", scale=shapes, legend=legend),
    )
    remark = "; ".join(
        filter(None, [network_in_words(tables) if _is_one(tables) else "", "medians of each flow"])
    )
    title = alt.TitleParams("Goodput against delay", subtitle=remark)
    return sized(layered(_better(), points), view.width_px, 0.5).properties(title=title)


def _flows(tables: Tables) -> pl.DataFrame:
    """Return `point, flow, algorithm, rtt_p95_ms, goodput_mbit_per_s`."""
    found = None
    for column, name in (("rtt_p95_ms", "rtt_p95_ms"), ("goodput", "goodput_mbit_per_s")):
        values = medians(quantity(column, tables), tables).select(
            "point", "flow", pl.col("value").round_sig_figs(5).alias(name)
        )
        found = values if found is None else found.join(values, on=["point", "flow"])
    runs = tables.runs.select("run", "point")
    flows = tables.flows.join(runs, on="run").select("point", "flow", "algorithm").unique().collect()
    assert found is not None  # noqa: S101 (there are two columns)
    return flows.join(found, on=["point", "flow"]).sort("point", "flow")


def _is_one(tables: Tables) -> bool:
    columns = ("link_rate_bit_per_s", "base_rtt_ms", "buffer_packets")
    return tables.runs.select(columns).unique().collect().height == 1


def _better() -> alt.Chart:
    """Mark the corner of high goodput and low delay."""
    corner = alt.Chart(inline(pl.DataFrame({"guide": ["↖ better"]})))
    return corner.mark_text(align="left", baseline="top", color=GUIDE, fontSize=13, fontWeight="bold").encode(
        alt.XValue(6), alt.YValue(6), alt.Text("guide", type="nominal")
    )


FIGURE = Figure(
    name="goodput_against_delay",
    shows="Goodput of each flow against the 95th percentile of its round-trip times, by algorithm: above and "
    "to the left is better.",
    needs=(),
    draw=draw,
)
