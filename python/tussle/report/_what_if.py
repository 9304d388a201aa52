"""The panel that changes one setting of a run, and simulates the run with and without it in the page."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any, Protocol

from tussle.catalog import catalog
from tussle.metrics import Tables, representative_runs
from tussle.report._packed import packed
from tussle.scenario import Scenario, seed_of
from tussle.studio import is_built, packed_module, simulator_script

_MOST_BYTES = 200_000
"""Largest run in the page; a long trace makes it large."""
_MOST_BYTES_OF_ALL = 3_000_000


class _Results(Tables, Protocol):
    @property
    def scenario(self) -> Scenario: ...


@dataclass(frozen=True)
class WhatIf:
    """The panel's content."""

    points: list[int]
    """Points whose runs the page has."""
    runs: str
    """The runs by point, as compressed JSON."""
    algorithms: list[str]
    simulator: str
    script: str


def what_if(dataset: _Results) -> WhatIf | None:
    """Return the panel; `None` if this installation has no simulator for pages, or no run fits into it.

    A point's run is the one that its charts show. Points with an algorithm of the user's, which the page
    cannot execute, have no panel.
    """
    if not is_built():
        return None
    runs = _runs(dataset)
    if not runs:
        return None
    text = json.dumps(runs, separators=(",", ":"))
    return WhatIf(list(runs), packed(text), list(catalog().algorithms), packed_module(), simulator_script())


def _runs(dataset: _Results) -> dict[int, dict[str, Any]]:
    points = dataset.scenario.points()
    repetitions = dict(dataset.runs.select("run", "repetition").collect().iter_rows())
    known = catalog().algorithms
    found: dict[int, dict[str, Any]] = {}
    size = 0
    for point, run in representative_runs(dataset).iter_rows():
        if point >= len(points):
            continue  # a baseline run
        resolved = points[point].resolve(seed_of(dataset.scenario.seed, repetitions[run]))
        length = len(json.dumps(resolved))
        if length > _MOST_BYTES or any(
            flow["algorithm"] not in {*known, "udp"} for flow in resolved["flows"]
        ):
            continue
        size += length
        if size > _MOST_BYTES_OF_ALL:
            break
        found[point] = resolved
    return found
