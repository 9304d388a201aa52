"""Goodput and fairness over the buffer."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle.figures._buffer import buffers
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._over import Over, draw_over
from tussle.metrics import Tables


def draw(tables: Tables, view: View) -> Chart:
    """Draw goodput and Jain's index against the buffer in bandwidth-delay products."""
    return draw_over(tables, view, _BUFFER)


def _values(tables: Tables) -> pl.DataFrame:
    return buffers(tables).rename({"buffer_bdp": "x"})


_BUFFER = Over(
    name="buffer",
    title="buffer (BDP)",
    key="path.queue.limit",
    values=_values,
    scale=lambda _: alt.Scale(type="log", nice=False, padding=8),
)

FIGURE = Figure(
    name="over_buffer",
    shows="Goodput of all flows together, and Jain's index below it where there are several, against the "
    "buffer in bandwidth-delay products; a line for each set of algorithms.",
    needs=(),
    draw=draw,
)
