"""Algorithms that share fairly with each other, as a graph."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument
from tussle.figures._cells import cell_table
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._palette import GUIDE, algorithm_colour
from tussle.figures._series import inline
from tussle.figures._style import layered
from tussle.figures._words import percent
from tussle.metrics import REGISTRY, Tables
from tussle.metrics.coexistence import DEPENDS, NO, THRESHOLD, UNCLEAR, YES

_SIZE_PX = 360
_LEAST_NODES = 3
_REACH = 1.55
"""End of the axes, where the circle of the nodes has radius 1: space for the names."""
_LABEL_AT = 1.19
_UPRIGHT = 1e-3


def draw(tables: Tables, view: View) -> Chart:
    """Draw a graph for each network: a node for each algorithm, an edge for each pair that shares fairly."""
    cells = cell_table(tables)
    if view.point is not None:
        raise TussleError(f"the graph of groups shows all pairs; leave out {argument('point')}")
    networks = [
        part for part in cells.partition_by("slice", maintain_order=True) if not _mixed(part).is_empty()
    ]
    if not networks or cells["first"].n_unique() < _LEAST_NODES:
        raise TussleError(f"a graph of groups needs pairs of {_LEAST_NODES} algorithms or more")
    graphs = [_graph(part) for part in networks]
    chart = graphs[0] if len(graphs) == 1 else alt.concat(*graphs, columns=2)
    groups = REGISTRY["groups"].compute(tables)
    least = percent(THRESHOLD)
    remarks = [
        _largest(groups),
        f"solid line: both have at least {least}, in both orders of start",
        "dashed line: the verdict depends on the order; dotted line: unclear",
        "hollow dot: two flows of the algorithm do not share fairly; around the circle: by increasing share",
    ]
    return chart.properties(title=alt.TitleParams("Who shares fairly with whom", subtitle=remarks))


def _largest(groups: pl.DataFrame) -> str:
    """Name the first of the largest groups, if it has more than one algorithm."""
    first = groups.sort("size", descending=True, maintain_order=True).row(0, named=True)
    return f"the largest group: {first['algorithms']}" if first["size"] > 1 else "no two share fairly"


def _mixed(cells: pl.DataFrame) -> pl.DataFrame:
    """Keep the pairs of two different algorithms."""
    return cells.filter(pl.col("first") != pl.col("second"))


def _graph(cells: pl.DataFrame) -> alt.LayerChart:
    nodes = _nodes(cells)
    edges = _edges(cells, nodes)
    place = {"type": "quantitative", "axis": None, "scale": alt.Scale(domain=[-_REACH, _REACH], nice=False)}
    lines = alt.Chart(inline(edges)).mark_rule(strokeWidth=1.8, color=GUIDE)
    dashes = alt.Scale(domain=[YES, DEPENDS, UNCLEAR], range=[[1, 0], [6, 4], [1, 4]])
    lines = lines.encode(
        alt.X("x", **place),
        alt.Y("y", **place),
        alt.X2("x2"),
        alt.Y2("y2"),
        alt.StrokeDash("verdict", type="nominal", scale=dashes, legend=None),
    )
    names = nodes["algorithm"].to_list()
    scale = alt.Scale(domain=names, range=[algorithm_colour(name) for name in names])
    base = alt.Chart(inline(nodes))
    circles = base.mark_circle(size=330, opacity=1, strokeWidth=3).encode(
        alt.X("x", **place),
        alt.Y("y", **place),
        alt.Fill("algorithm", type="nominal", scale=scale, legend=None),
        alt.Stroke("algorithm", type="nominal", scale=scale, legend=None),
    )
    hollow = circles.transform_filter(alt.datum.own == NO).encode(fill=alt.value("white"))
    labels = [
        base.transform_filter(f"datum.side === '{side}'")
        .mark_text(align=side, fontSize=13, baseline="middle")
        .encode(alt.X("label_x", **place), alt.Y("label_y", **place), alt.Text("algorithm", type="nominal"))
        for side in nodes["side"].unique(maintain_order=True)
    ]
    chart = layered(lines, circles, hollow, *labels)
    title = {"title": cells["slice"][0]} if cells["slice"][0] else {}
    return chart.properties(width=_SIZE_PX, height=_SIZE_PX, **title)


def _nodes(cells: pl.DataFrame) -> pl.DataFrame:
    """Place the algorithms on a circle in the order of their mean shares, so that edges are short."""
    mixed = _mixed(cells)
    shares = pl.concat(
        [
            mixed.select(pl.col("first").alias("algorithm"), "share"),
            mixed.select(pl.col("second").alias("algorithm"), (1 - pl.col("share")).alias("share")),
        ]
    )
    names = shares.group_by("algorithm").agg(pl.col("share").mean()).sort("share", "algorithm")["algorithm"]
    own = dict(cells.filter(pl.col("first") == pl.col("second")).select("first", "verdict").iter_rows())
    rows = []
    for place, name in enumerate(names):
        angle = math.pi / 2 - 2 * math.pi * place / len(names)
        x, y = round(math.cos(angle), 4), round(math.sin(angle), 4)
        rows.append(
            {
                "algorithm": name,
                "own": own.get(name) or "not run",
                "x": x,
                "y": y,
                "label_x": round(x * _LABEL_AT, 4),
                "label_y": round(y * _LABEL_AT, 4),
                "side": "center" if abs(x) < _UPRIGHT else "left" if x > 0 else "right",
            }
        )
    return pl.DataFrame(rows)


def _edges(cells: pl.DataFrame, nodes: pl.DataFrame) -> pl.DataFrame:
    """Return `first, second, verdict, x, y, x2, y2` of pairs that share fairly in an order, or may."""
    verdict = pl.coalesce("verdict_both_orders", "verdict")
    places = nodes.select("algorithm", "x", "y")
    return (
        _mixed(cells)
        .with_columns(verdict.alias("verdict"))
        .filter(pl.col("verdict").is_in([YES, DEPENDS, UNCLEAR]))
        .with_columns(pair=pl.concat_list("first", "second").list.sort())
        .unique(["pair"], keep="first", maintain_order=True)
        .join(places, left_on="first", right_on="algorithm")
        .join(places.rename({"x": "x2", "y": "y2"}), left_on="second", right_on="algorithm")
        .sort("first", "second")
        .select("first", "second", "verdict", "x", "y", "x2", "y2")
    )


FIGURE = Figure(
    name="groups",
    shows="Graph of the algorithms that share fairly: a solid line between two that share fairly in both "
    "orders of start, a dashed line where that depends on the order, a dotted line where it is unclear.",
    needs=(),
    draw=draw,
)
