"""Figures: charts drawn from tables, computing nothing.

Each figure is a file of this folder that defines `FIGURE`; the registry is found from the files.
"""

from __future__ import annotations

import pkgutil
from functools import lru_cache
from importlib import import_module

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument, setting, unknown
from tussle.figures._cells import (
    SHARE,
    Shades,
    are_means,
    cell_table,
    first_in_words,
    in_cell,
    shades,
    sides_in_words,
)
from tussle.figures._ellipse import ellipse
from tussle.figures._figure import Beside, Chart, Figure, Outliers, View
from tussle.figures._palette import SHARES, algorithm_colour, ink_on, share_colour
from tussle.figures._save import FORMATS, as_image, library, save, svg
from tussle.figures._size import resized, retitled
from tussle.figures._style import CONFIG, INTERVAL
from tussle.figures._verdicts import reason_in_words, spread_in_words, whole_in_words
from tussle.figures._words import (
    flows_in_words,
    network_in_words,
    other_axes_in_words,
    percent,
    rate_in_words,
)
from tussle.metrics import Tables
from tussle.registry import Registry

__all__ = [
    "CONFIG",
    "FORMATS",
    "REGISTRY",
    "SHARE",
    "SHARES",
    "Beside",
    "Chart",
    "Figure",
    "Outliers",
    "Shades",
    "View",
    "algorithm_colour",
    "are_means",
    "as_image",
    "cell_table",
    "draw",
    "ellipse",
    "first_in_words",
    "flows_in_words",
    "in_cell",
    "ink_on",
    "is_drawable",
    "library",
    "network_in_words",
    "other_axes_in_words",
    "percent",
    "rate_in_words",
    "reason_in_words",
    "resized",
    "retitled",
    "save",
    "shades",
    "share_colour",
    "sides_in_words",
    "spread_in_words",
    "svg",
    "whole_in_words",
]

_ROWS_WITHOUT_SAMPLING = 3
"""Number of rows of a series without sampling: the ends of the steady interval and of the run."""


def _find() -> dict[str, Figure]:
    names = sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )
    found = [import_module(f"{__name__}.{name}").FIGURE for name in names]
    return {figure.name: figure for figure in found}


REGISTRY: Registry[Figure] = Registry("figure", _find())
"""Every figure by name."""


def draw(name: str, tables: Tables, view: View | None = None) -> Chart:
    """Draw a figure by its name.

    Raises TussleError for an unknown name and for tables that lack what it shows.
    """
    if name not in REGISTRY:
        raise TussleError(unknown("figure", name, REGISTRY))
    figure, view = REGISTRY[name], view or View()
    _refuse_what_has_no_effect(figure, view)
    for table in figure.needs:
        if not _is_sampled(tables, table):
            raise TussleError(
                f"this dataset has no {table}, which the figure {name} shows; "
                f"run again with {setting('record.samples', '100 ms')}"
            )
    chart = figure.draw(tables, view)
    if isinstance(chart.title, str):
        chart.title = alt.TitleParams(chart.title)
    chart.config = CONFIG
    return chart


def _refuse_what_has_no_effect(figure: Figure, view: View) -> None:
    if view.metric and not figure.metric:
        able = [each.name for each in REGISTRY.values() if each.metric]
        raise TussleError(
            f"the figure {figure.name} takes no {argument('metric')}; these do: {', '.join(able)}"
        )
    if view.between_s and figure.of == "dataset":
        able = [each.name for each in REGISTRY.values() if each.of != "dataset"]
        raise TussleError(
            f"the figure {figure.name} takes no {argument(*INTERVAL)}; these do: {', '.join(able)}"
        )
    if view.beside and figure.of != "several datasets":
        able = [each.name for each in REGISTRY.values() if each.of == "several datasets"]
        raise TussleError(
            f"the figure {figure.name} takes no {argument('beside')}; these do: {', '.join(able)}"
        )


def is_drawable(name: str, tables: Tables) -> bool:
    """Return whether the tables hold the time series that a figure needs."""
    return all(_is_sampled(tables, table) for table in REGISTRY[name].needs)


@lru_cache(maxsize=2)
def _is_sampled(tables: Tables, table: str) -> bool:
    frame: pl.LazyFrame = getattr(tables, table)
    if "time_s" not in frame.collect_schema():
        return False
    times = (
        frame.group_by("run").agg(pl.col("time_s").n_unique()).select(pl.col("time_s").max()).collect().item()
    )
    return times is not None and times > _ROWS_WITHOUT_SAMPLING
