"""Small figures of a comparison: the distribution of the differences over the cells."""

from __future__ import annotations

import math

import altair as alt
import polars as pl

from tussle.agreement._bounds import Bound, rows_of
from tussle.agreement._words import amount
from tussle.figures import CONFIG, as_image, svg

_WIDTH_PX, _HEIGHT_PX = 380, 180
_DECADES = 5
"""Powers of ten on the axis of differences. Smaller differences are drawn at its left end."""


def distribution(found: pl.DataFrame, bound: Bound) -> str:
    """Draw the cumulative distribution of the differences over the cells, with the limits of a bound, as SVG.

    `found` has the columns `algorithm, arrangement, quantity, difference` of an agreement's differences.
    """
    sizes = rows_of(found, bound)["difference"].abs().sort()
    limits = [
        {"size": limit, "cells": percent, "kind": f"limit: {amount(bound.quantity, limit)}"}
        for limit, percent in ((bound.median, 50), (bound.p95, 95))
        if limit is not None
    ]
    most = 10.0 ** math.ceil(math.log10(max(1e-9, *(each["size"] for each in limits), *sizes)))
    least = most / 10**_DECADES
    cells = [
        {"size": max(size, least), "cells": 100 * rank / sizes.len()} for rank, size in enumerate(sizes, 1)
    ]
    x = alt.X(
        "size",
        type="quantitative",
        title=f"difference in {bound.words}{_unit(bound.quantity)}, at most",
        scale=alt.Scale(type="log", domain=[least, most]),
        axis=alt.Axis(
            values=[least * 10**power for power in range(_DECADES + 1)], labelExpr=_label(bound.quantity)
        ),
    )
    y = alt.Y("cells", type="quantitative", title="cells (%)", scale=alt.Scale(domain=[0, 100]))
    curve = (
        alt.Chart(alt.InlineData(values=cells))
        .mark_line(interpolate="step-after", strokeWidth=1.8)
        .encode(x, y)
    )
    marks = alt.Chart(alt.InlineData(values=limits)).encode(x, y)
    points = marks.mark_point(shape="triangle-left", filled=True, size=70, color="#a4231b")
    labels = marks.mark_text(align="left", dx=8, dy=8, color="#a4231b").encode(
        alt.Text("kind", type="nominal")
    )
    layers = alt.layer(curve, points, labels).properties(width=_WIDTH_PX, height=_HEIGHT_PX)
    chart = alt.vconcat(layers)
    chart.config = CONFIG
    return as_image(svg(chart)) + "\n"


def _label(quantity: str) -> str:
    """Return the Vega expression of a label: relative differences are shown in per cent."""
    return "format(datum.value, '~r')" if _unit(quantity) else "format(100 * datum.value, '~r') + ' %'"


def _unit(quantity: str) -> str:
    """Return the unit of absolute differences for a title; relative ones have theirs on the axis."""
    return "" if amount(quantity, 1.0).endswith("%") else " (points)"
