"""Planning takes work and memory in proportion to the number of flows."""

import json
import sys
from collections import Counter
from types import FrameType
from typing import Any

import pytest

from tussle.scenario import Scenario

FLOWS = 200


def crowd(flows: int, *, own_tables: bool) -> Scenario:
    """Flows with an access link each and a baseline run each, from one table or from a table each."""
    flow = {"algorithm": "cubic", "access": {"delay": "1 ms"}}
    tables = [flow] * flows if own_tables else [flow | {"count": flows}]
    return Scenario.from_dict(
        {
            "duration": "1 s",
            "baseline": True,
            "path": {"rate": "1 Gbit/s", "rtt": "20 ms"},
            "flows": tables,
        }
    )


def planned(flows: int, *, own_tables: bool) -> tuple[int, int]:
    """Return the number of calls that planning takes, and the size of the plan."""
    calls: Counter[str] = Counter()

    def count(_frame: FrameType, event: str, _argument: Any) -> None:
        calls[event] += 1

    sys.setprofile(count)
    try:
        plan = crowd(flows, own_tables=own_tables).runs()
    finally:
        sys.setprofile(None)
    assert len(plan) == 1 + flows
    return calls["call"] + calls["c_call"], sum(len(json.dumps(each.run)) for each in plan)


@pytest.mark.parametrize("own_tables", [False, True])
def test_twice_the_flows_with_baseline_runs_take_twice_the_calls_and_the_size(*, own_tables: bool):
    """A name of a flow has one digit more at most."""
    planned(2, own_tables=own_tables)  # what is parsed or imported once
    once, twice = (planned(flows, own_tables=own_tables) for flows in (FLOWS // 2, FLOWS))
    assert twice[0] < 2.1 * once[0]
    assert twice[1] < 2.1 * once[1]
