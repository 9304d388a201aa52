"""What of a scenario is random, and so how often a point is run when nobody says it."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING

from tussle import _core, units
from tussle.own_algorithms import is_own
from tussle.scenario.resolve import resolve, with_reno_for_own

if TYPE_CHECKING:
    from tussle.scenario.model import Scenario

REPETITIONS = 10
"""Of a scenario that throws dice: enough for a median with a 95 % interval, which needs six."""


def random_parts(scenario: Scenario) -> list[str]:
    """Return what makes repetitions differ in a scenario without axes: `start_jitter`, elements, flows.

    The simulator says which elements and algorithms throw dice. A user's own algorithm may.
    """
    run = resolve(scenario, seed=0)
    jitter = ["start_jitter"] if units.time(scenario.start_jitter) else []
    own = [flow["name"] for flow in run["flows"] if is_own(flow["algorithm"])]
    return [*jitter, *_core.random_parts(json.dumps(with_reno_for_own(run))), *own]
