"""Definition of a figure, and the options of a drawing."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal

import altair as alt

from tussle.html import table
from tussle.metrics import Tables

Chart = alt.Chart | alt.LayerChart | alt.HConcatChart | alt.VConcatChart | alt.ConcatChart

Outliers = Literal["shown", "hidden"]


@dataclass(frozen=True)
class Beside:
    """Another dataset, for figures that compare several, and what it and the first are called."""

    tables: Tables
    name: str
    first_name: str
    """Name of the first dataset in the drawing."""


@dataclass(frozen=True)
class View:
    """The part of a dataset to draw, and the size of the drawing."""

    point: int | None = None
    """One point of the scenario; `None`: all of them, side by side."""
    width_px: int = 640
    """Width of a panel with a time axis."""
    most_rows: int = 1000
    """Rows that a series may have; longer ones are thinned so that their extremes stay."""
    between_s: tuple[float, float] | None = None
    """The part of the time to draw; `None`: the whole run."""
    metric: str | None = None
    """The quantity to show, for figures that have a choice; `None`: the figure's own."""
    beside: Beside | None = None
    """The second dataset, for figures that compare several."""
    further: tuple[Beside, ...] = ()
    """Datasets after that one."""
    outliers: Outliers = "shown"
    """Whether boxes show the values beyond their whiskers."""


@dataclass(frozen=True)
class Figure:
    """A chart that can be drawn from the tables of any engine."""

    name: str
    """The name of its file, of its entry in the registry and on the command line."""
    shows: str
    """A description of the chart, in one sentence."""
    needs: tuple[str, ...]
    """The tables that the figure reads in addition to `runs` and `flows`."""
    draw: Callable[[Tables, View], Chart]
    """Returns the chart; raises TussleError for tables that it cannot show."""
    of: Literal["point", "dataset", "several datasets"] = "dataset"
    """The scope of one chart; a time series shows one point."""
    metric: str | None = None
    """The default quantity; `None`: the figure has no choice of quantities."""

    def __repr__(self) -> str:
        return f"<Figure {self.name} of {self.of if self.of == 'several datasets' else f'a {self.of}'}>"

    def _repr_html_(self) -> str:
        return table([self.name, ""], [("shows", self.shows), ("needs", ", ".join(self.needs))])
