"""Charts on their way into the page: drawn small, compressed, unpacked when someone looks."""

from __future__ import annotations

import base64
import gzip
import json
from dataclasses import dataclass
from typing import Any

from tussle.figures import REGISTRY, View, draw, is_drawable
from tussle.metrics import Tables, representative_runs, select_runs

_TIME_SERIES = ("throughput", "window")
_MOST_ROWS = 1000
_LEAST_ROWS = 150
_ALL_ROWS = 40_000
"""Rows of one series over all points, so that a page of many points stays light."""


@dataclass(frozen=True)
class Charts:
    """The time series of a page."""

    names: list[str]
    config: dict[str, Any]
    """The look they have in common, as Vega-Lite's configuration."""
    packed: dict[int, str]
    """By point: a list of charts as JSON, compressed by gzip, in base64."""


def captions(charts: Charts) -> list[tuple[str, str]]:
    """Say what each chart of a point shows: name and sentence."""
    return [(name, REGISTRY[name].shows) for name in charts.names]


def charts(tables: Tables) -> Charts:
    """Draw the time series of every point that can be drawn from the tables."""
    names = [name for name in _TIME_SERIES if is_drawable(name, tables)]
    rows = min(_MOST_ROWS, max(_LEAST_ROWS, _ALL_ROWS // _points(tables)))
    config: dict[str, Any] = {}
    packed = {}
    for point, run in representative_runs(tables).iter_rows() if names else ():
        one = select_runs(tables, [run])
        specs = [draw(name, one, View(most_rows=rows)).to_dict(validate=False) for name in names]
        for spec in specs:
            config = spec.pop("config")
            spec["description"] = spec.pop("title")["text"]
        packed[point] = _pack(specs)
    return Charts(names, config, packed)


def _points(tables: Tables) -> int:
    return max(1, tables.runs.select("point").unique().collect().height)


def _pack(specs: list[dict[str, Any]]) -> str:
    # A fixed time in the header: the same dataset gives the same page.
    content = json.dumps(specs, separators=(",", ":"), ensure_ascii=False)
    return base64.b64encode(gzip.compress(content.encode(), mtime=0)).decode()
