"""The figures of a study's page, as SVG."""

from __future__ import annotations

import math
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from typing import NamedTuple

import altair as alt
import polars as pl

from tussle.errors import TussleError
from tussle.figures import CONFIG, REGISTRY, View, draw, svg
from tussle.metrics import REGISTRY as METRICS
from tussle.metrics import Tables, axis_columns, representative_runs, select_runs
from tussle.papers._compare import Row
from tussle.papers._study import Chart, Column
from tussle.predicates import at_values

_PANELS = 2
"""Number of panels in a row."""
_DECADES = 100.0
"""Ratio of the largest to the least number from which axes are logarithmic."""
_VIEW = View(width_px=520, most_rows=150)
_COORDINATES = re.compile(r' (?:d|transform)="[^"]*"')
_LONG_DECIMALS = re.compile(r"(\d+\.\d)\d+")
_FONT = re.compile(r' font-family="[^"]*"')
_OPAQUE = ' opacity="1"'
"""The default of SVG."""


MEASURES: dict[str, float | None] = {
    "rank correlation": 1.0,
    "verdicts that agree": 1.0,
    "median difference, %": None,
}
"""Measures that are drawn over the values of a sweep, and the end of their axis; `None`: the greatest."""


class SweptScore(NamedTuple):
    """A measure of how near a table is to print, on an engine at a value of a sweep."""

    engine: str
    value: str
    table: str
    measure: str
    """One of `MEASURES`."""
    score: float


@dataclass(frozen=True)
class PartFigure:
    """A figure of a part. It is drawn when a page first reads it: the Markdown page shows a few of them."""

    chart: Chart
    tables: Tables
    """The runs that it shows."""

    @property
    def caption(self) -> str:
        """The line below it."""
        return self.chart.caption

    @property
    def svg(self) -> str:
        """The figure; empty if it cannot be drawn."""
        return self._drawing[0]

    @property
    def problem(self) -> str:
        """Why it cannot be drawn; empty if it can."""
        return self._drawing[1]

    @cached_property
    def _drawing(self) -> tuple[str, str]:
        chart = self.chart
        view = replace(_VIEW, metric=chart.metric, outliers=chart.outliers)
        try:
            return shortened(svg(draw(chart.figure, self.tables, view))), ""
        except TussleError as error:
            return "", str(error)


def part_figures(chart: Chart, tables: Tables) -> Iterator[PartFigure]:
    """Yield the figure of a chart, or one for each value of its axis; none if its points were not run."""
    if chart.each is None:
        yield from _figures(chart, tables)
        return
    if chart.each not in axis_columns(tables):
        return
    for value in tables.runs.select(chart.each).unique(maintain_order=True).collect()[chart.each]:
        at = {**chart.at, chart.each: value}
        named = chart.model_copy(update={"at": at, "caption": f"{chart.caption}: {value}"})
        yield from _figures(named, tables)


def over_sweep(scores: Sequence[SweptScore], axis: str, engines: Mapping[str, str]) -> str:
    """Draw scores over the values of a sweep: a panel for each table and measure, a line for each engine.

    Values and tables are in the order of `scores`; `engines` has the names that readers see, by engine.
    """
    values = list(dict.fromkeys(each.value for each in scores))
    lines: list[alt.HConcatChart] = []
    for table in dict.fromkeys(each.table for each in scores):
        shown = [
            [each for each in scores if (each.table, each.measure) == (table, name)] for name in MEASURES
        ]
        panels = [_over_sweep(each, axis, values, engines) for each in shown if each]
        lines.extend(_in_lines(panels))
    chart = alt.vconcat(*lines)
    chart.config = CONFIG
    return shortened(svg(chart))


def _over_sweep(
    scores: Sequence[SweptScore], axis: str, values: Sequence[str], engines: Mapping[str, str]
) -> alt.Chart:
    every = [each.score for each in scores]
    table, measure = scores[0].table, scores[0].measure
    domain = [min(0.0, *every), MEASURES[measure] or max(every)]
    rows = [{"value": each.value, "engine": engines[each.engine], "score": each.score} for each in scores]
    names = [name for engine, name in engines.items() if any(each.engine == engine for each in scores)]
    place = alt.Scale(domain=list(values))
    return (
        alt.Chart(alt.InlineData(values=rows), title=table)
        .mark_line(aria=False, point={"aria": False, "size": 22}, strokeWidth=1.5, opacity=0.8)
        .encode(
            alt.X("value", type="nominal", title=axis, scale=place, axis=alt.Axis(labelAngle=-30)),
            alt.Y("score", type="quantitative", title=measure, scale=alt.Scale(domain=domain, nice=True)),
            alt.Color(
                "engine",
                type="nominal",
                title=None,
                sort=names,
                legend=alt.Legend(orient="top", labelLimit=0),
            ),
        )
        .properties(width=230, height=130)
    )


def beside(columns: Sequence[Column], rows: Sequence[Row], engines: Mapping[str, str]) -> str:
    """Draw Tussle's number over the published one of each cell, a panel for each column.

    `engines` has the names that readers see, by engine.
    """
    panels = [_beside(column, rows, engines) for column in columns]
    chart = alt.vconcat(*_in_lines(panels))
    chart.config = CONFIG
    return shortened(svg(chart))


def _in_lines(panels: Sequence[alt.Chart | alt.LayerChart | alt.FacetChart]) -> list[alt.HConcatChart]:
    return [alt.hconcat(*panels[at : at + _PANELS]) for at in range(0, len(panels), _PANELS)]


def _beside(
    column: Column, rows: Sequence[Row], engines: Mapping[str, str]
) -> alt.LayerChart | alt.FacetChart:
    cells = [
        {"published": row.published[column.name], "ours": found.mean, "engine": name}
        for engine, name in engines.items()
        for row in rows
        if column.name in row.published and (found := row.found.get(engine, {}).get(column.name))
    ]
    both = [each for cell in cells for each in (cell["published"], cell["ours"])]
    least, most = (min(both), max(both)) if both else (0.0, 1.0)
    is_logarithmic = least > 0 and most / least > _DECADES
    scale = alt.Scale(type="log" if is_logarithmic else "linear", domain=[least, most], nice=True)
    # A label that is moved away from the end of its axis can touch the one before.
    axis = alt.Axis(labelFlush=False)
    if is_logarithmic:
        axis.values = _decades(least, most)
    equal = (
        alt.Chart(alt.InlineData(values=[{"published": each, "ours": each} for each in (least, most)]))
        .mark_line(aria=False, color="#888", strokeWidth=1, strokeDash=[4, 3])
        .encode(
            alt.X("published", type="quantitative", scale=scale, axis=axis),
            alt.Y("ours", type="quantitative", scale=scale, axis=axis),
        )
    )
    points = (
        alt.Chart(alt.InlineData(values=cells))
        .mark_point(aria=False, filled=True, size=22, opacity=0.6)
        .encode(
            alt.X("published", type="quantitative", title=f"published: {column.words}"),
            alt.Y("ours", type="quantitative", title="run again"),
            alt.Color(
                "engine",
                type="nominal",
                title=None,
                sort=list(engines.values()),
                legend=alt.Legend(orient="top"),
            ),
        )
    )
    return alt.layer(equal, points).properties(width=250, height=220)


def _decades(least: float, most: float) -> list[float]:
    """Return the powers of ten around two numbers.

    >>> _decades(0.5, 30)
    [0.1, 1.0, 10.0, 100.0]
    """
    return [10.0**power for power in range(math.floor(math.log10(least)), math.ceil(math.log10(most)) + 1)]


def shortened(text: str) -> str:
    """Round coordinates to a tenth of a pixel, and name the font once, which makes pages smaller."""
    rounded = _COORDINATES.sub(lambda found: _LONG_DECIMALS.sub(r"\1", found.group()), text)
    plain = rounded.replace(_OPAQUE, "")
    fonts = set(_FONT.findall(plain))
    if len(fonts) != 1:
        return plain
    return _FONT.sub("", plain).replace("<svg", f"<svg{fonts.pop()}", 1)


def _figures(chart: Chart, tables: Tables) -> Iterator[PartFigure]:
    if not chart.at.keys() <= set(axis_columns(tables)):
        return
    runs = _runs(chart, tables)
    if runs:
        is_whole = not chart.at and chart.stands == "goodput"
        yield PartFigure(chart, tables if is_whole else select_runs(tables, runs))


def _runs(chart: Chart, tables: Tables) -> list[int]:
    """Return the runs that a chart shows; a time series shows one representative run of each point."""
    runs = at_values(tables.runs.collect(), chart.at)
    if REGISTRY[chart.figure].of != "point":
        return runs["run"].to_list()
    stand = representative_runs(tables) if chart.stands == "goodput" else _nearest(tables)
    return stand.filter(pl.col("run").is_in(runs["run"].to_list()))["run"].to_list()


def _nearest(tables: Tables) -> pl.DataFrame:
    """Choose the run of each point whose vector of measurements is closest to the mean vector."""
    return (
        METRICS["representative"]
        .compute(tables)
        .join(tables.runs.select("run", "point").collect(), on="run")
        .sort("point", "distance", "run", nulls_last=True)
        .group_by("point", maintain_order=True)
        .agg(pl.col("run").first())
    )
