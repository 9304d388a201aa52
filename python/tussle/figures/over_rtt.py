"""Goodput and fairness over the round-trip time."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.figures._figure import Chart, Figure, View
from tussle.figures._over import Over, draw_over
from tussle.metrics import Tables


def draw(tables: Tables, view: View) -> Chart:
    """Draw goodput and Jain's index against the round-trip time of the bottleneck with an empty queue."""
    return draw_over(tables, view, _RTT)


def _values(tables: Tables) -> pl.DataFrame:
    return tables.runs.select("point", pl.col("base_rtt_ms").alias("x")).unique().collect()


_RTT = Over(
    name="round-trip time",
    title="RTT with an empty queue (ms)",
    key="path.rtt",
    values=_values,
    scale=lambda _: alt.Scale(type="log", nice=False, padding=8),
)

FIGURE = Figure(
    name="over_rtt",
    shows="Goodput of all flows together, and Jain's index below it where there are several, against the "
    "round-trip time of the bottleneck with an empty queue; a line for each set of algorithms.",
    needs=(),
    draw=draw,
)
