"""Executes what a wheel is optimised for; `make wheel` runs it with a simulator that counts what it executes.

The compiler then lays out the usual case in a straight line, and inlines what is called most. The runs are
the cases whose instructions `make test` counts, every point of the ready scenarios, and every algorithm over
the path of one of them.
"""

from __future__ import annotations

import json
from collections.abc import Iterator

from cases import COUNTED
from tussle import _core
from tussle.catalog import catalog
from tussle.scenario import Scenario, ready_scenarios

ONE_FLOW = "one-cubic-flow-fills-the-link"


def runs() -> Iterator[str]:
    """Yield the runs as the simulator takes them, in JSON."""
    yield from (case.run_json() for case in COUNTED)
    one_flow = Scenario.load(ONE_FLOW)
    scenarios = [
        *map(Scenario.load, ready_scenarios()),
        *(one_flow.with_settings({"flows.0.algorithm": name}) for name in catalog().algorithms),
    ]
    for scenario in scenarios:
        yield from (json.dumps(planned.run) for planned in scenario.runs() if planned.repetition == 0)


if __name__ == "__main__":
    for run in runs():
        _core.execute(run)
