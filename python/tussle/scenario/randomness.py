"""The random parts of a scenario, and the default number of repetitions."""

from __future__ import annotations

from typing import TYPE_CHECKING

from tussle import units
from tussle.own_algorithms import is_own
from tussle.run_checks import run_checks
from tussle.scenario.resolve import resolve

if TYPE_CHECKING:
    from tussle.scenario.model import Scenario

REPETITIONS = 10
"""Default number of repetitions of a scenario with randomness; a 95 % interval of a median needs six."""


def random_parts(scenario: Scenario) -> list[str]:
    """Return the random parts of a scenario without axes: `start_jitter`, names of elements and of flows.

    A class in a user's Python file counts as random.
    """
    run = resolve(scenario, seed=0)
    jitter = ["start_jitter"] if units.time(scenario.start_jitter) else []
    own = [flow["name"] for flow in run["flows"] if is_own(flow["algorithm"])]
    return [*jitter, *run_checks().random_parts(run), *own]
