"""Measure the steps a second of tussle.gym on one core; `--write` puts them into the docs.

Each step of one environment is one action, one interval of 30 ms of a 10 Mbit/s path (about 25 packets), one
observation and one reward.
"""

import argparse
import platform
import re
import statistics
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np

from tussle.gym import CongestionEnv, CongestionVectorEnv

PAGE = Path(__file__).parent.parent / "docs" / "how-to" / "train-an-algorithm.md"
_TABLE = re.compile(r"(<!-- benches/gym.py -->\n).*?(<!-- end -->)", re.DOTALL)
_ROUNDS = 5
_ROUND_S = 2.0

PATH = {"rate": "10 Mbit/s", "rtt": "30 ms"}
ALONE = {"duration": "30 s", "path": PATH, "flows": [{"name": "agent", "algorithm": "reno"}]}
RIVALS = {**ALONE, "flows": [*ALONE["flows"], {"algorithm": "cubic"}, {"algorithm": "bbr"}]}
SCENARIOS = {"the agent alone": ALONE, "with CUBIC and BBR as rivals": RIVALS}
MANY = 64


def one(scenario: dict) -> Callable[[], int]:
    """Return a function that performs one step of one environment, and returns 1."""
    env = CongestionEnv(scenario, "agent", interval="30 ms")
    env.reset(seed=1)
    action = np.zeros(1)

    def step() -> int:
        _, _, over, cut, _ = env.step(action)
        if over or cut:
            env.reset()
        return 1

    return step


def many(scenario: dict) -> Callable[[], int]:
    """Return a function that performs one step of 64 environments, and returns 64."""
    envs = CongestionVectorEnv(scenario, "agent", num_envs=MANY, interval="30 ms")
    envs.reset(seed=1)
    actions = np.zeros((MANY, 1))

    def step() -> int:
        envs.step(actions)
        return MANY

    return step


def steps_per_s(step: Callable[[], int]) -> float:
    """Return the median of some rounds, episodes' beginnings included."""
    found = []
    for _ in range(_ROUNDS):
        # The time of the processor: other programs on the machine do not count.
        began, count = time.process_time(), 0
        while time.process_time() - began < _ROUND_S:
            count += step()
        found.append(count / (time.process_time() - began))
    return statistics.median(found)


def table() -> str:
    """Return the table of the docs."""
    lines = ["| steps a second | 1 environment | 64 environments | ratio |", "|---|---|---|---|"]
    for name, scenario in SCENARIOS.items():
        single, together = steps_per_s(one(scenario)), steps_per_s(many(scenario))
        lines.append(f"| {name} | {single:,.0f} | {together:,.0f} | {together / single:.1f} |")
    return "\n".join(lines) + "\n"


def processor() -> str:
    """Return the model of the processor, where Linux tells it."""
    file = Path("/proc/cpuinfo")
    names = re.findall(r"model name\s*: (.*)", file.read_text("utf-8")) if file.exists() else []
    return names[0] if names else platform.machine()


def main() -> None:
    """Measure, print, and write if asked to."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("--write", action="store_true")
    chosen = arguments.parse_args()
    found = f"{table()}\nOne core of: {processor()}.\n"
    print(found)  # noqa: T201 (a report for developers)
    if chosen.write:
        text = PAGE.read_text("utf-8")
        PAGE.write_text(_TABLE.sub(lambda each: each[1] + found + each[2], text), "utf-8")


if __name__ == "__main__":
    main()
