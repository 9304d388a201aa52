"""Share of the first flow of each pair, against the buffer."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures._buffer import buffers
from tussle.figures._cells import cell_table, first_in_words
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._over import ticks
from tussle.figures._palette import algorithm_colour
from tussle.figures._series import inline
from tussle.figures._style import Y_AXIS_PX, layered, levels, sized
from tussle.figures._words import dashes
from tussle.metrics import Tables, axis_columns, pairs

_MOST_PAIRS = 8
"""More lines cannot be distinguished, nor named in a legend."""


def draw(tables: Tables, view: View) -> Chart:
    """Draw a line for each pair of algorithms; medians over the repetitions."""
    shown = _shares(tables)
    if view.point is not None:
        shown = shown.filter(pl.col("point") == view.point)
    if shown.is_empty():
        raise TussleError(
            "this dataset has no shares over buffers; they need runs of two flows each and a limited queue"
        )
    of_first = first_in_words(pairs(tables))
    names = shown.select("pair", "first").unique(maintain_order=True)
    if len(names) > _MOST_PAIRS:
        raise TussleError(
            f"this dataset has {len(names)} pairs of algorithms, too many for one figure of shares over "
            f"buffers; choose at most {_MOST_PAIRS}, or draw the matrix"
        )
    chart = alt.Chart(inline(shown.drop("point", "first")))
    scale = alt.Scale(type="log", nice=False, padding=8)
    buffer = alt.X("buffer_bdp", type="quantitative", title="buffer (BDP)", scale=scale)
    share = alt.Y("share", type="quantitative", title=f"share of the {of_first}")
    curve = chart.mark_line(strokeWidth=1.6, point=alt.OverlayMarkDef(size=30)).encode(
        buffer.axis(values=ticks(shown["buffer_bdp"]), format="~g", labelOverlap=True),
        share.scale(domain=[0, 1]).axis(format=".0%", minExtent=Y_AXIS_PX),
        *_encoding(names),
    )
    title = alt.TitleParams("Share of goodput against the buffer", subtitle=_remark(names, of_first))
    return sized(layered(*levels({"fair": 0.5}), curve), view.width_px, 0.36).properties(title=title)


def _shares(tables: Tables) -> pl.DataFrame:
    """`point, pair, first, buffer_bdp, share`, sorted by pair and buffer."""
    others = [axis for axis in axis_columns(tables) if not axis.endswith((".algorithm", "queue.limit"))]
    named = [pl.format("{} = {}", pl.lit(axis), pl.col(axis)) for axis in others]
    network = pl.concat_str(named, separator=", ") if named else pl.lit(None, pl.String)
    networks = tables.runs.select("point", network.alias("network")).unique().collect()
    shares = cell_table(tables).select("point", "share")
    pair = pl.concat_str(
        pl.format("{} and {}", "first", "second"), "network", separator=", ", ignore_nulls=True
    )
    return (
        pairs(tables)
        .join(networks, on="point")
        .join(buffers(tables), on="point")
        .join(shares, on="point")
        .select("point", pair.alias("pair"), "first", "buffer_bdp", pl.col("share").round(4))
        .filter(pl.col("buffer_bdp").is_not_null(), pl.col("share").is_not_null())
        .sort("pair", "buffer_bdp", "point")
    )


def _encoding(names: pl.DataFrame) -> list[alt.Color | alt.StrokeDash]:
    """Give each pair the colour of its first flow, and dashes that differ from the others'."""
    labels, firsts = names["pair"].to_list(), names["first"].to_list()
    strokes = [list(dash) or [1, 0] for dash in dashes(firsts)]
    legend = (
        alt.Legend(orient="top", title=None, symbolType="stroke", symbolSize=400) if len(labels) > 1 else None
    )
    colours = alt.Scale(domain=labels, range=[algorithm_colour(first) for first in firsts])
    return [
        alt.Color("pair", type="nominal", scale=colours, legend=legend),
        alt.StrokeDash("pair", type="nominal", scale=alt.Scale(domain=labels, range=strokes), legend=legend),
    ]


def _remark(names: pl.DataFrame, of_first: str) -> str:
    return names["pair"].item() if len(names) == 1 else f"the algorithm of the {of_first} is named first"


FIGURE = Figure(
    name="share_over_buffer",
    shows="Share of the first flow in the goodput of each pair of algorithms, against the buffer in "
    "bandwidth-delay products, on a logarithmic axis; medians over the repetitions.",
    needs=(),
    draw=draw,
)
