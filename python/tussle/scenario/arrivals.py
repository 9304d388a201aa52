"""Flows that arrive one after another. Their times are sampled when a scenario is resolved."""

from __future__ import annotations

from collections.abc import Iterator
from functools import lru_cache
from typing import TYPE_CHECKING

from tussle import units
from tussle.errors import TussleError
from tussle.scenario.distributions import Distribution, time_distribution
from tussle.scenario.problems import Problem
from tussle.scenario.sampling import sample
from tussle.scenario.tables import Flow

if TYPE_CHECKING:
    from tussle.scenario.model import Scenario

MOST_ARRIVALS = 10_000
_MOST_FORESEEN = MOST_ARRIVALS // 2
"""Leaves room for repetitions with more arrivals."""
_LEAST_GAP_NS = 1000
"""The shortest time between two arrivals."""


def arrivals_ns(flow: Flow, end_ns: int, label: str) -> tuple[int, ...]:
    """Return the start times of a table's flows.

    `end_ns` is the end of the run, and `label` that of the samples. The first flow starts one sampled time
    after `start`. Raises TussleError for more than `MOST_ARRIVALS` flows.
    """
    until_ns = end_ns if flow.stop is None else min(end_ns, units.time(flow.stop))
    starts_ns = _sampled_ns(time_distribution(flow.arrivals), units.time(flow.start), until_ns, label)
    if len(starts_ns) > MOST_ARRIVALS:
        raise TussleError(f"arrivals: more than {MOST_ARRIVALS} flows; give more time between them")
    return starts_ns


@lru_cache(maxsize=64)
def _sampled_ns(gaps: Distribution, from_ns: int, until_ns: int, label: str) -> tuple[int, ...]:
    """Sample the arrivals between two times; stop at one more than the limit."""
    at_ns = from_ns
    starts_ns: list[int] = []
    while len(starts_ns) <= MOST_ARRIVALS:
        at_ns += max(_LEAST_GAP_NS, sample(gaps, f"{label}/arrival/{len(starts_ns)}"))
        if at_ns >= until_ns:
            break
        starts_ns.append(at_ns)
    return tuple(starts_ns)


def arrival_problems(flow: Flow, scenario: Scenario, where: str) -> Iterator[Problem]:
    """Check arrivals in a flow table without axes; `where` is its key in the scenario."""
    if flow.arrivals is None:
        return
    if flow.bytes is None:
        yield Problem(f"{where}.bytes", 'missing; flows that arrive need a size, like "pareto(10 kB, 1.2)"')
    if flow.count != 1:
        yield Problem(f"{where}.count", "arrivals decide the number of flows; leave count out")
    if scenario.baseline:
        yield Problem("baseline", "arrivals are random in each repetition; leave baseline out")
    if units.time(scenario.start_jitter):
        yield Problem("start_jitter", "arrivals are random already; leave start_jitter out")
    if time_distribution(flow.arrivals).kind == "wifi":
        yield Problem(f"{where}.arrivals", "wifi is a distribution of delays; write one of the others")
        return
    try:
        foreseen = len(arrivals_ns(flow, units.time(scenario.duration), f"0/{where}"))
    except TussleError:
        foreseen = MOST_ARRIVALS
    if foreseen > _MOST_FORESEEN:
        many = f"more than {_MOST_FORESEEN} flows; give more time between them, or an earlier stop"
        yield Problem(f"{where}.arrivals", f"{flow.arrivals} makes {many}")
    elif not foreseen:
        what = f"{flow.arrivals} makes no flow before the end of the run; give a shorter time"
        yield Problem(f"{where}.arrivals", what)
