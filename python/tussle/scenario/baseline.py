"""Baseline runs: a point of a scenario with one of its flows and no other."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import TYPE_CHECKING, Any

from tussle.scenario.resolve import senders_of

if TYPE_CHECKING:
    from tussle.scenario.model import Scenario

BASELINE = "baseline"
"""The key, beside the axes of a baseline run, for the name of its flow."""

_OF_A_FLOW = re.compile(r"(flows\.\d+)\.(.+)")
_OF_ALL = {"count", "start", "stop"}
"""Keys of a flow that also affect the other flows: they decide names, and the steady interval."""


def baseline_flows(scenario: Scenario, axes: Mapping[str, str]) -> dict[int, dict[str, str]]:
    """Return, for each flow of a point by index, the axes of its baseline run, and its name as `baseline`.

    Axes that affect only other flows are left out. The result is empty if there is only one flow.
    """
    flows = senders_of(scenario, seed=0)
    if len(flows) == 1:
        return {}
    return {
        index: {key: value for key, value in axes.items() if _matters(key, flow.where)}
        | {BASELINE: flow.name}
        for index, flow in enumerate(flows)
    }


def alone(run: dict[str, Any], indices: Iterable[int]) -> list[dict[str, Any]]:
    """Return a run for each of these flows: the flow, and the elements that it crosses."""
    elements = run["elements"]
    places = {element["name"]: place for place, element in enumerate(elements)}
    found = []
    for index in indices:
        flow = run["flows"][index]
        crossed = sorted({places[name] for name in (*flow["forward"], *flow["reverse"])})
        found.append({**run, "flows": [flow], "elements": [elements[place] for place in crossed]})
    return found


def _matters(key: str, where: str) -> bool:
    of_a_flow = _OF_A_FLOW.fullmatch(key)
    return of_a_flow is None or of_a_flow[1] == where or of_a_flow[2] in _OF_ALL
