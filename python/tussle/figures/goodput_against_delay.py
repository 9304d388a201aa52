"""Goodput of each flow against the 95th percentile of its round-trip times."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._ellipse import ellipse
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import GUIDE, algorithm_colour, algorithm_shape
from tussle.figures._quantity import each_value, medians, quantity
from tussle.figures._series import inline
from tussle.figures._style import Y_AXIS_PX, layered, sized
from tussle.figures._words import network_in_words
from tussle.metrics import Tables


def draw(tables: Tables, view: View) -> Chart:
    """Draw the median of each flow of each point over the repetitions, and the ellipse of its runs."""
    shown = _flows(tables)
    outlines = _ellipses(tables, shown)
    if view.point is not None:
        shown, outlines = (each.filter(pl.col("point") == view.point) for each in (shown, outlines))
    if shown.is_empty():
        raise TussleError("no flow of this dataset has both a goodput and a measured round-trip time")
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
    of_flows = (
        "medians of each flow" if outlines.is_empty() else "medians of each flow, and the spread of its runs"
    )
    remark = "; ".join(filter(None, [network_in_words(tables) if _is_one(tables) else "", of_flows]))
    title = alt.TitleParams("Goodput against delay", subtitle=remark)
    layers = [_better()] if outlines.is_empty() else [_better(), _outlined(outlines, colours)]
    return sized(layered(*layers, points), view.width_px, 0.5).properties(title=title)


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


def _ellipses(tables: Tables, shown: pl.DataFrame) -> pl.DataFrame:
    """Return `point, outline, corner, algorithm, rtt_ms, mbit_per_s`: the ellipses of flows that vary."""
    delay, goodput = (
        each_value(quantity(name, tables), tables).rename({"value": name})
        for name in ("rtt_p95_ms", "goodput")
    )
    runs = tables.runs.select("run", "point").collect()
    values = delay.join(goodput, on=["run", "flow"]).join(runs, on="run").sort("point", "flow", "run")
    named = values.join(shown.select("point", "flow", "algorithm"), on=["point", "flow"])
    found = []
    for (point, flow, algorithm), runs_of_flow in named.group_by(
        "point", "flow", "algorithm", maintain_order=True
    ):
        corners = ellipse(runs_of_flow.select("rtt_p95_ms", "goodput").to_numpy())
        if corners is None:
            continue
        outline = pl.DataFrame(corners, schema=["rtt_ms", "mbit_per_s"]).select(pl.all().round_sig_figs(5))
        found.append(
            outline.select(
                pl.lit(point, pl.UInt32).alias("point"),
                pl.lit(f"{point} {flow}").alias("outline"),
                pl.Series("corner", range(len(corners)), dtype=pl.UInt32),
                pl.lit(algorithm).alias("algorithm"),
                pl.all(),
            )
        )
    return pl.concat(found) if found else pl.DataFrame(schema={"point": pl.UInt32})


def _outlined(outlines: pl.DataFrame, colours: alt.Scale) -> alt.Chart:
    """Draw the ellipses as thin lines."""
    return (
        alt.Chart(inline(outlines.drop("point")))
        .mark_line(strokeWidth=1, opacity=0.6)
        .encode(
            alt.X("rtt_ms", type="quantitative", title="95th percentile of the RTT (ms)"),
            alt.Y("mbit_per_s", type="quantitative", title="goodput (Mbit/s)"),
            alt.Color("algorithm", type="nominal", scale=colours),
            alt.Detail("outline", type="nominal"),
            alt.Order("corner", type="quantitative"),
        )
    )


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
    "to the left is better. With three repetitions or more, an ellipse shows the spread of a flow's runs: "
    "one standard deviation of the normal distribution that fits them (RFC 7928, section 2.7).",
    needs=(),
    draw=draw,
)
