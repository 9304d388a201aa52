"""The size and the title of a drawn figure."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import altair as alt

from tussle.figures._figure import Chart

Arranged = list[list[Any]]
"""Charts in rows, each from left to right."""


def resized(chart: Chart, width_px: int | None, height_px: int | None) -> Chart:
    """Scale the panels of a chart to a width and a height in pixels, and return the chart.

    Both are without titles, axes and legends: that of the widest row of panels, and that of all rows. `None`
    keeps what the figure has.
    """
    if width_px is not None and (now_px := _extent(chart, "width")):
        _scale(chart, "width", width_px / now_px)
    if height_px is not None and (now_px := _extent(chart, "height")):
        _scale(chart, "height", height_px / now_px)
    return chart


def retitled(chart: Chart, title: str | None) -> Chart:
    """Give a chart another title, and return it; an empty one removes it, with the lines below."""
    if title is None:
        return chart
    old = chart.title
    if not title:
        chart.title = alt.Undefined
    elif isinstance(old, alt.TitleParams):
        old.text = title
    else:
        chart.title = alt.TitleParams(title)
    return chart


def _extent(chart: Any, side: str) -> float:
    """Return the sum of the panels' sizes in one direction, 0 if the drawing library chooses them."""
    rows = _rows(chart)
    if not rows:
        size = getattr(chart, side, None)
        return float(size) if isinstance(size, int | float) else 0.0
    if side == "width":
        return max(sum(_extent(each, side) for each in row) for row in rows)
    return sum(max(_extent(each, side) for each in row) for row in rows)


def _scale(chart: Any, side: str, factor: float) -> None:
    for each in _panels(chart):
        size = getattr(each, side, None)
        if isinstance(size, int | float):
            setattr(each, side, max(1, round(size * factor)))


def _panels(chart: Any) -> Iterator[Any]:
    rows = _rows(chart)
    if not rows:
        yield chart
    for row in rows:
        for each in row:
            yield from _panels(each)


def _rows(chart: Any) -> Arranged:
    """Return the parts of a chart that are beside and above each other; none of a single panel."""
    if isinstance(chart, alt.VConcatChart):
        return [[each] for each in chart.vconcat]
    if isinstance(chart, alt.HConcatChart):
        return [list(chart.hconcat)]
    if isinstance(chart, alt.ConcatChart):
        parts = list(chart.concat)
        columns = chart.columns if isinstance(chart.columns, int) else len(parts)
        return [parts[start : start + columns] for start in range(0, len(parts), columns)]
    return []
