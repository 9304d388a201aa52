"""How well a sweep uses two cores, and what an algorithm in Python costs."""

from __future__ import annotations

import re
import sys
import tempfile
import time
from pathlib import Path
from statistics import median
from typing import Any

from tussle.cli.experiments import algorithms_of
from tussle.engines import engine
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep
from tussle.sweep.costs import costs_of

ROOT = Path(__file__).resolve().parent.parent
TUTORIAL = ROOT / "docs" / "tutorial" / "your-own-algorithm.md"


def rows(rounds: int) -> dict[str, Any]:
    """Sweep the matrix with one worker and with two in turn; give the medians, and the cost of an ACK."""
    wall_s: dict[int, list[float]] = {1: [], 2: []}
    for _ in range(rounds):
        for workers, times_s in wall_s.items():
            times_s.append(_sweep_s(_matrix(), workers))
    efficiencies = [one / (2 * two) for one, two in zip(wall_s[1], wall_s[2], strict=True)]
    return {
        "runs": len(_matrix().runs()),
        "one_worker_s": median(wall_s[1]),
        "two_workers_s": median(wall_s[2]),
        "efficiency_percent": 100 * median(efficiencies),
        "python_ack_us": median(_python_ack_us() for _ in range(rounds)),
    }


def _matrix() -> Scenario:
    """The thirteen algorithms against each other in both orders, for 40 s, as `tussle matrix` does."""
    names = algorithms_of("linux13")
    return Scenario.from_dict(
        {
            "question": "Which can share a bottleneck?",
            "duration": "40 s",
            "start_jitter": "20 ms",
            "repetitions": 1,
            "path": {"profile": "lan"},
            "flows": [{"algorithm": names}, {"algorithm": names, "start": "10 s"}],
        }
    )


def _sweep_s(scenario: Scenario, workers: int) -> float:
    with tempfile.TemporaryDirectory() as folder:
        begun = time.perf_counter()
        sweep(scenario, Path(folder) / "swept", SweepSettings(workers=workers))
        return time.perf_counter() - begun


def _python_ack_us() -> float:
    """Run the tutorial's algorithm alone; give the time of its hooks for each ACK."""
    with tempfile.TemporaryDirectory() as folder:
        [block] = re.findall(
            r"^```python\n(# mine\.py\n.*?)^```$", TUTORIAL.read_text(), re.MULTILINE | re.DOTALL
        )
        mine = Path(folder) / "mine.py"
        mine.write_text(block)
        flows = [{"algorithm": f"{mine}:Calm"}]
        told = {"duration": "60 s", "path": {"rate": "100 Mbit/s", "rtt": "40 ms"}, "flows": flows}
        planned = Scenario.from_dict(told).runs()[0]
        [cost] = costs_of(engine("sim").execute(planned.run))
        return 1e6 * cost.in_hooks_s / cost.acks


def main() -> None:
    """Print it."""
    for name, value in rows(3).items():
        sys.stdout.write(f"{name}: {value:.3g}\n")


if __name__ == "__main__":
    main()
