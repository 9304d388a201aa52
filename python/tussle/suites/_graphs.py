"""The graph of RFC 7928: goodput against queueing delay, with and without the tested queue."""

from __future__ import annotations

from collections.abc import Iterator

import altair as alt
import polars as pl

from tussle.figures import CONFIG, ellipse, svg
from tussle.metrics import Tables, axis_columns
from tussle.predicates import Quantity, values
from tussle.suites._suite import Suite
from tussle.suites._verdicts import CANDIDATE, Datasets, point_words

_DROP_TAIL = "drop-tail"
_DELAY = Quantity(metric="queueing_delay", column="queueing_delay_p50_ms")
_GOODPUT = Quantity(metric="total", scale=1e-6)
_COLOURS = ("#3663db", "#b84a14")
_WIDTH_PX, _HEIGHT_PX = 360, 220
_TITLES = {"delay_ms": "queueing delay, median over time (ms)", "mbit_per_s": "goodput of all flows (Mbit/s)"}


def graphs(suite: Suite, datasets: Datasets, queue: str | None) -> dict[str, str]:
    """Draw the graph of each test of a queue whose counterpart at a drop-tail queue ran, too, as SVG by test.

    RFC 7928, section 2.7, has a sample every ten round trips; here each run is one.
    """
    if not suite.queues:
        return {}
    counterparts = {suite.tests[name].scenario: name for name in datasets if suite.tests[name].drop_tail}
    found = {}
    for name, contenders in datasets.items():
        test = suite.tests[name]
        if test.queue and test.scenario in counterparts:
            tested = contenders[CANDIDATE]
            kind = queue or str(suite.scenario(name).to_dict()["path"]["queue"]["kind"])
            sides = {kind: tested, _DROP_TAIL: datasets[counterparts[test.scenario]][CANDIDATE]}
            runs = pl.concat([_runs(side, tables, test.words) for side, tables in sides.items()])
            if not runs.is_empty():
                found[name] = _draw(runs, [*sides])
    return found


def _runs(queue: str, tables: Tables, words: dict[str, str]) -> pl.DataFrame:
    """Return `queue, where, delay_ms, mbit_per_s`, a row for each run."""
    delay, goodput = (values(tables, each).select("run", "value") for each in (_DELAY, _GOODPUT))
    measured = delay.rename({"value": "delay_ms"}).join(
        goodput.rename({"value": "mbit_per_s"}), on="run", how="inner"
    )
    points = tables.runs.select("run", *axis_columns(tables)).collect()
    varied = [axis for axis in axis_columns(tables) if points[axis].n_unique() > 1]
    where = [
        point_words({axis: str(row[axis]) for axis in varied}, words) for row in points.iter_rows(named=True)
    ]
    return (
        points.select("run", pl.Series("where", where, dtype=pl.String))
        .join(measured, on="run")
        .sort("run")
        .select(pl.lit(queue).alias("queue"), "where", pl.col("delay_ms", "mbit_per_s").round_sig_figs(5))
        .drop_nulls()
    )


def _outlines(runs: pl.DataFrame) -> Iterator[dict[str, object]]:
    """Yield the corners of the ellipse of each point of each queue."""
    for (queue, where), group in runs.group_by("queue", "where", maintain_order=True):
        corners = ellipse(group.select("delay_ms", "mbit_per_s").to_numpy())
        for number, (delay, goodput) in enumerate([] if corners is None else corners.tolist()):
            yield {
                "queue": queue,
                "outline": f"{queue} {where}",
                "corner": number,
                "delay_ms": float(f"{delay:.5g}"),
                "mbit_per_s": float(f"{goodput:.5g}"),
            }


def _draw(runs: pl.DataFrame, queues: list[str]) -> str:
    scale = alt.Scale(domain=queues, range=[*_COLOURS])
    legend = alt.Legend(orient="top", labelLimit=0)
    x, y = (
        alt.X("delay_ms", type="quantitative", title=_TITLES["delay_ms"]).scale(zero=True),
        alt.Y("mbit_per_s", type="quantitative", title=_TITLES["mbit_per_s"]).scale(zero=False),
    )
    colour = alt.Color("queue", type="nominal", title=None, sort=queues, scale=scale, legend=legend)
    medians = runs.group_by("queue", "where", maintain_order=True).median()
    layers = [
        alt.Chart(alt.InlineData(values=runs.to_dicts()))
        .mark_point(size=14, opacity=0.5)
        .encode(x, y, colour),
        alt.Chart(alt.InlineData(values=medians.to_dicts()))
        .mark_point(filled=True, size=50, opacity=1)
        .encode(x, y, colour),
    ]
    if outlines := list(_outlines(runs)):
        layers.append(
            alt.Chart(alt.InlineData(values=outlines))
            .mark_line(strokeWidth=1)
            .encode(
                x, y, colour, alt.Detail("outline", type="nominal"), alt.Order("corner", type="quantitative")
            )
        )
    if medians["where"].n_unique() > 1:
        layers.append(
            alt.Chart(alt.InlineData(values=medians.to_dicts()))
            .mark_text(align="left", dx=7, dy=-7, fontSize=9)
            .encode(x, y, colour, alt.Text("where", type="nominal"))
        )
    chart = alt.vconcat(alt.layer(*layers).properties(width=_WIDTH_PX, height=_HEIGHT_PX))
    chart.config = CONFIG
    return svg(chart)
