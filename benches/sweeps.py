"""Efficiency of a sweep on two cores, and cost of an algorithm in Python."""

from __future__ import annotations

import re
import resource
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any, NamedTuple

from tussle.engines import engine
from tussle.experiment import algorithms_of
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep
from tussle.workers.costs import costs_of

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial" / "your-own-algorithm.md"


LONGER = 5
"""Repetitions of the matrix in the longer sweep, where starting workers weighs less; swept in one round."""


def rows(rounds: int) -> dict[str, Any]:
    """Sweep the matrix with one worker and with two in turn; return the medians, and the cost of an ACK."""
    return {
        "swept": [_compared(_matrix(1), rounds), _compared(_matrix(LONGER), 1)],
        "python_ack_us": median(_python_ack_us() for _ in range(rounds)),
    }


def _compared(scenario: Scenario, rounds: int) -> dict[str, Any]:
    one, two = [], []
    for _ in range(rounds):
        one.append(_swept(scenario, 1))
        two.append(_swept(scenario, 2))
    efficiencies = [alone.wall_s / (2 * both.wall_s) for alone, both in zip(one, two, strict=True)]
    return {
        "runs": len(scenario.runs()),
        "wall_s": [median(each.wall_s for each in swept) for swept in (one, two)],
        "cpu_s": [median(each.cpu_s for each in swept) for swept in (one, two)],
        "efficiency_percent": 100 * median(efficiencies),
    }


def _matrix(repetitions: int) -> Scenario:
    """The thirteen algorithms against each other in both orders, for 40 s, as `tussle matrix` does."""
    names = algorithms_of("linux13")
    return Scenario.from_dict(
        {
            "question": "Which algorithms share a bottleneck fairly?",
            "duration": "40 s",
            "start_jitter": "20 ms",
            "repetitions": repetitions,
            "path": {"profile": "lan"},
            "flows": [{"algorithm": names}, {"algorithm": names, "start": "10 s"}],
        }
    )


class _Swept(NamedTuple):
    wall_s: float
    cpu_s: float


def _swept(scenario: Scenario, workers: int) -> _Swept:
    with tempfile.TemporaryDirectory() as folder:
        begun_s, used_s = time.perf_counter(), _cpu_s()
        sweep(scenario, Path(folder) / "swept", SweepSettings(workers=workers))
        return _Swept(time.perf_counter() - begun_s, _cpu_s() - used_s)


def _cpu_s() -> float:
    """Return the processor time of this process and of its workers that have ended."""
    used = [resource.getrusage(whose) for whose in (resource.RUSAGE_SELF, resource.RUSAGE_CHILDREN)]
    return sum(each.ru_utime + each.ru_stime for each in used)


def _python_ack_us() -> float:
    """Run the tutorial's algorithm alone; return the microseconds in its hooks per ACK."""
    with tempfile.TemporaryDirectory() as folder:
        [block] = re.findall(
            r"^```python\n(# mine\.py\n.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL
        )
        mine = Path(folder) / "mine.py"
        mine.write_text(block)
        flows = [{"algorithm": f"{mine}:Calm"}]
        tables = {"duration": "60 s", "path": {"rate": "100 Mbit/s", "rtt": "40 ms"}, "flows": flows}
        planned = Scenario.from_dict(tables).runs()[0]
        [cost] = costs_of(engine("sim").execute(planned.run))
        return 1e6 * cost.in_hooks_s / cost.acks
