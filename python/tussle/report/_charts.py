"""Charts of the page: with few rows, compressed, and unpacked when they are shown."""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import partial
from typing import Any

from altair.utils import schemapi

from tussle.errors import TussleError
from tussle.figures import REGISTRY, Figure, View, draw, is_drawable
from tussle.metrics import Tables, representative_runs, select_runs
from tussle.report._drawing import Drawing
from tussle.report._packed import packed

_MOST_ROWS = 1000
_LEAST_ROWS = 150
_ALL_ROWS = 40_000
"""Largest number of rows of one series over all points, which limits the size of the page."""
_IN_THE_PAGE = ("matrix",)
"""Figures that the page shows in another form."""
_FIRST = ("throughput", "window", "rtt", "fairness", "phase")
_FIRST += ("ranking", "groups", "share_over_buffer", "over_buffer")
"""Names of the figures that come first; the others follow by name."""

Spec = dict[str, Any]


@dataclass(frozen=True)
class Charts:
    """The time series of a page."""

    names: list[str]
    packed: dict[int, str]
    """Charts of each point by name, without the common style, as compressed JSON."""


@dataclass(frozen=True)
class Overview:
    """A chart of all points."""

    name: str
    title: str
    caption: str
    packed: str


def captions(charts: Charts) -> list[tuple[str, str]]:
    """Return the name of each chart of a point, and a sentence about it."""
    return [(name, REGISTRY[name].shows) for name in charts.names]


def charts(tables: Tables, drawing: Drawing | None = None) -> Charts:
    """Draw the time series of every point, as far as the tables have them."""
    drawing = drawing or Drawing()
    names = [each.name for each in _figures("point") if is_drawable(each.name, tables)]
    chosen = representative_runs(tables).rows() if names else []
    view = View(most_rows=min(_MOST_ROWS, max(_LEAST_ROWS, _ALL_ROWS // max(1, len(chosen)))))
    jobs = (partial(_of_run, select_runs(tables, [run]), names, view) for _, run in chosen)
    drawn: set[str] = set()
    found = {}
    for (point, _), (of_point, content) in zip(chosen, drawing.done(jobs, len(chosen)), strict=True):
        drawn.update(of_point)
        found[point] = content
    return Charts([name for name in names if name in drawn], found)


def _of_run(run: Tables, names: list[str], view: View) -> tuple[list[str], str]:
    """Draw the named figures that the run has data for; return their names, and all of them packed."""
    # Altair's checks are the same for all points, and would be repeated for each.
    with schemapi.debug_mode(arg=False):
        specs = {name: spec for name in names if (spec := _spec(name, run, view))}
    return list(specs), packed(_json(specs))


def overviews(tables: Tables) -> list[Overview]:
    """Draw every figure of all points that the tables have data for."""
    wanted = [each for each in _figures("dataset") if each.name not in _IN_THE_PAGE]
    return [overview for figure in wanted if (overview := _overview(figure, tables))]


def _figures(of: str) -> list[Figure]:
    found = [each for each in REGISTRY.values() if each.of == of]
    return sorted(found, key=lambda each: _FIRST.index(each.name) if each.name in _FIRST else len(_FIRST))


def _spec(name: str, run: Tables, view: View) -> Spec | None:
    """Draw a figure of one point; `None` if the point does not fit, such as one flow for a figure of two."""
    try:
        spec = draw(name, run, view).to_dict(validate=False)
    except TussleError:
        return None
    spec.pop("config")
    spec["description"] = spec.pop("title")["text"]
    return spec


def _overview(figure: Figure, tables: Tables) -> Overview | None:
    try:
        spec = draw(figure.name, tables).to_dict(validate=False)
    except TussleError:
        return None
    title = spec.pop("title")
    spec.pop("config")
    spec["description"] = title["text"]
    remarks = title.get("subtitle", "")
    remark = remarks if isinstance(remarks, str) else "; ".join(remarks)
    caption = f"{figure.shows} {remark[:1].upper()}{remark[1:]}." if remark else figure.shows
    return Overview(figure.name, title["text"], caption, packed(_json({figure.name: spec})))


def _json(content: object) -> str:
    return json.dumps(content, separators=(",", ":"), ensure_ascii=False)
