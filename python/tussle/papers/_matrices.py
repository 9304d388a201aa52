"""The matrix of a published table of pairs beside Tussle's, as SVG."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import altair as alt

from tussle.figures import CONFIG, ink_on, share_colour, svg
from tussle.papers._charts import shortened
from tussle.papers._compare import PAIR, Row
from tussle.papers._study import Table, Verdict

_CELL_PX = 26
_BESIDE = 2
"""Number of matrices in a row."""
_INK = "#16181d"


def matrices(table: Table, rows: Sequence[Row], engines: Mapping[str, str]) -> str:
    """Draw the share of the first flow of each pair, as printed and on each engine; empty without pairs.

    `engines` has the names that readers see, by engine. Pairs with the better verdict are outlined.
    """
    rule = table.verdict
    if rule is None or not rows or not all(row.keys.keys() == set(PAIR) for row in rows):
        return ""
    names = list(dict.fromkeys(name for row in rows for name in row.keys.values()))
    printed = [_cell(row, row.published, row.verdict, rule) for row in rows]
    panels = {"published": printed} | {
        name: [_cell(row, _means(row, engine), row.verdicts.get(engine), rule) for row in rows]
        for engine, name in engines.items()
    }
    shown = [
        _matrix(title, [cell for cell in cells if cell], names)
        for title, cells in panels.items()
        if any(cells)
    ]
    chart = alt.concat(*shown, columns=_BESIDE).properties(
        title=alt.TitleParams(
            "Share of the first flow, %",
            subtitle=f"outlined: {rule.yes} (the smaller share is at least {rule.at_least})",
        )
    )
    chart.config = CONFIG
    return shortened(svg(chart))


def _means(row: Row, engine: str) -> dict[str, float]:
    return {name: found.mean for name, found in row.found.get(engine, {}).items()}


def _cell(
    row: Row, numbers: Mapping[str, float], verdict: str | None, rule: Verdict
) -> dict[str, object] | None:
    """Return what a matrix shows of a pair; nothing without the numbers of both flows, or if both are 0."""
    first, second = (numbers.get(column) for column in rule.columns)
    if first is None or second is None or not first + second:
        return None
    share = first / (first + second)
    fill = share_colour(share)
    return {
        "first": row.keys[PAIR[0]],
        "second": row.keys[PAIR[1]],
        "percent": f"{100 * share:.0f}",
        "fill": fill,
        "ink": ink_on(fill),
        "outlined": verdict == rule.yes,
    }


def _matrix(
    title: str, cells: Sequence[Mapping[str, object]], names: Sequence[str]
) -> alt.LayerChart | alt.FacetChart:
    side = alt.Scale(domain=list(names), paddingInner=0.07)
    base = alt.Chart(alt.InlineData(values=list(cells))).encode(
        alt.X("second:N", title="second flow", scale=side).axis(
            orient="top", labelAngle=-40, domain=False, ticks=False
        ),
        alt.Y("first:N", title="first flow", scale=side).axis(domain=False, ticks=False),
    )
    fills = base.mark_rect(aria=False).encode(color=alt.Color("fill:N", scale=None))
    outlines = base.transform_filter("datum.outlined").mark_rect(
        aria=False, fillOpacity=0, stroke=_INK, strokeWidth=1.4
    )
    numbers = base.mark_text(aria=False, fontSize=10).encode(
        text="percent:N", color=alt.Color("ink:N", scale=None)
    )
    size = _CELL_PX * len(names)
    return alt.layer(fills, outlines, numbers).properties(title=title, width=size, height=size)
