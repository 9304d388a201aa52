"""Goodput and fairness over random loss."""

from __future__ import annotations

import altair as alt
import polars as pl

from tussle import units
from tussle.figures._figure import Chart, Figure, View
from tussle.figures._over import Over, draw_over
from tussle.metrics import Tables, axis_columns

_KEY = "path.loss"


def draw(tables: Tables, view: View) -> Chart:
    """Draw goodput and Jain's index against the fraction of packets lost at random on the path."""
    return draw_over(tables, view, _LOSS)


def _values(tables: Tables) -> pl.DataFrame:
    if _KEY not in axis_columns(tables):
        return tables.runs.select("point", pl.lit(None, pl.Float64).alias("x")).unique().collect()
    percent = pl.col(_KEY).map_elements(lambda written: float(units.fraction(written)) * 100, pl.Float64)
    return tables.runs.select("point", _KEY).unique().collect().select("point", percent.alias("x"))


def _scale(values: pl.Series) -> alt.Scale:
    """Use a logarithmic axis, which is straight from the least loss down to none."""
    positive = values.filter(values > 0)
    least = positive.min() if len(positive) else 1
    return alt.Scale(type="symlog", constant=least, nice=False, padding=8)  # pyright: ignore[reportArgumentType]


_LOSS = Over(name="random loss", title="packets lost at random (%)", key=_KEY, values=_values, scale=_scale)

FIGURE = Figure(
    name="over_loss",
    shows="Goodput of all flows together, and Jain's index below it where there are several, against the "
    "fraction of packets that the path loses at random; a line for each set of algorithms.",
    needs=(),
    draw=draw,
)
