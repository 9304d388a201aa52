"""The figure of a claim: each case's value beside its limit and the references."""

from __future__ import annotations

import math
from collections.abc import Sequence

import altair as alt

from tussle.figures import CONFIG, as_image, svg
from tussle.suites._result import CaseResult, Number

_WIDTH_PX, _ROW_PX = 360, 15
_INK, _LIMIT, _REFERENCES = "#16181d", "#a4231b", ("#3663db", "#b84a14", "#40a179", "#875581")
_DECADES = 30.0
"""Ratio of the largest to the least number from which the axis is logarithmic."""


def of_claim(cases: Sequence[CaseResult], algorithm: str) -> str:
    """Draw the values of the cases of one claim as SVG: medians, 95 % intervals, limits, references."""
    points = [case.where or "all runs" for case in cases]
    rows = [
        {"point": point, "series": name, "value": number.median, "low": _low(number), "high": _high(number)}
        for point, case in zip(points, cases, strict=True)
        for name, number in _series(case, algorithm)
    ]
    limits = [
        {"point": point, "value": case.limit, "series": "limit"}
        for point, case in zip(points, cases, strict=True)
        if case.limit is not None
    ]
    if not rows:
        return ""
    names = list(dict.fromkeys(row["series"] for row in rows))
    colours = [_INK, *_REFERENCES][: len(names)]
    every = [each for row in rows for each in (row["value"], row["low"], row["high"])]
    every += [limit["value"] for limit in limits]
    scale, axis = _scale(every)
    title = f"{cases[0].words}; {'at most' if cases[0].relation == '<' else 'at least'} the red line"
    x = alt.X("value", type="quantitative", title=title, scale=scale, axis=axis)
    y = alt.Y("point", type="nominal", title=None, sort=points, axis=alt.Axis(labelLimit=0))
    offset = alt.YOffset("series", type="nominal", sort=names)
    colour = alt.Color(
        "series",
        type="nominal",
        title=None,
        sort=names,
        scale=alt.Scale(domain=names, range=colours),
        legend=alt.Legend(orient="top", labelLimit=0),
    )
    base = alt.Chart(alt.InlineData(values=rows)).encode(y, offset)
    spans = base.mark_rule(strokeWidth=2).encode(
        alt.X("low", type="quantitative", title=title), alt.X2("high"), colour
    )
    dots = base.mark_point(filled=True, size=45, opacity=1).encode(x, colour)
    marks = (
        alt.Chart(alt.InlineData(values=limits))
        .mark_tick(color=_LIMIT, thickness=2.5, size=_ROW_PX * len(names))
        .encode(x, y)
    )
    layers = alt.layer(spans, dots, marks).properties(width=_WIDTH_PX, height=alt.Step(_ROW_PX))
    chart = alt.vconcat(layers)
    chart.config = CONFIG
    return as_image(svg(chart))


def _series(case: CaseResult, algorithm: str) -> list[tuple[str, Number]]:
    own = [(algorithm, case.value)] if case.value else []
    return own + [(name, number) for name, number in case.references.items() if name != algorithm]


def _low(number: Number) -> float:
    return number.median if number.low is None else number.low


def _high(number: Number) -> float:
    return number.median if number.high is None else number.high


def _scale(every: Sequence[float]) -> tuple[alt.Scale, alt.Axis]:
    least, most = min(every), max(every)
    if least > 0 and most / least > _DECADES:
        first, last = math.floor(math.log10(least)), math.ceil(math.log10(most))
        ticks = [10.0**power for power in range(first, last + 1)]
        return alt.Scale(type="log", domain=[ticks[0], ticks[-1]]), alt.Axis(values=ticks, format="~g")
    return alt.Scale(domain=[min(0.0, least), most], nice=True), alt.Axis()
