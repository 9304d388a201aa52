"""Sampling of the cells in which two engines are compared."""

from collections import Counter
from dataclasses import replace

import pytest

from tussle.agreement import GRIDS, HOSTS, REPETITIONS, scenarios
from tussle.catalog import groups
from tussle.scenario.hosts import Hosts

LINUX = groups()["linux"].algorithms
FULL = GRIDS["full"]
SAMPLED = scenarios(FULL, LINUX)
CASES = [(name, case) for name, scenario in SAMPLED.items() for case in scenario.cases]


def amount(text: str) -> float:
    return float(text.split(maxsplit=1)[0])


def test_a_sample_is_the_same_each_time_and_another_seed_samples_others() -> None:
    assert scenarios(FULL, LINUX) == SAMPLED
    assert scenarios(replace(FULL, seed=2), LINUX) != SAMPLED


def test_a_smaller_sample_is_a_prefix_of_a_larger_one() -> None:
    few = scenarios(replace(FULL, cells=100), LINUX)
    assert sum(len(scenario.cases) for scenario in few.values()) == 100
    for name, scenario in few.items():
        assert scenario.cases == SAMPLED[name].cases[: len(scenario.cases)]


@pytest.mark.parametrize(("key", "least", "most"), [("path.rate", 2, 1000), ("path.rtt", 1, 300)])
def test_rates_and_delays_are_spread_evenly_over_their_logarithms(
    key: str, least: float, most: float
) -> None:
    values = sorted(amount(case[key]) for _, case in CASES)
    assert least <= values[0]
    assert values[-1] <= most
    # The lowest eighth of the logarithms ends there; it has 512 / 8 cells, but for rounding.
    assert abs(sum(value < least * (most / least) ** (1 / 8) for value in values) - 64) <= 2


def test_buffers_are_spread_evenly() -> None:
    buffers = [amount(case["path.queue.limit"]) for _, case in CASES]
    assert min(buffers) >= 0.1
    assert max(buffers) <= 4
    assert abs(sum(buffer < 0.1 + 3.9 / 4 for buffer in buffers) - 128) <= 2


def test_losses_arrangements_and_algorithms_are_equally_frequent() -> None:
    losses = Counter(case["path.loss"] for _, case in CASES)
    assert {loss: abs(count - 512 / 3) <= 2 for loss, count in losses.items()} == dict.fromkeys(
        ["0 %", "0.01 %", "1 %"], True
    )
    arrangements = Counter("one" if name.startswith("one") else name for name, _ in CASES)
    assert all(abs(count - 512 / 5) <= 2 for count in arrangements.values())
    algorithms = Counter(case[max(key for key in case if key.endswith("algorithm"))] for _, case in CASES)
    assert set(algorithms) == set(LINUX)
    assert all(abs(count - 512 / 17) <= 3 for count in algorithms.values())


def test_each_arrangement_has_its_flows() -> None:
    found = {}
    for name, scenario in SAMPLED.items():
        run = scenario.runs()[0].run
        under_test = scenario.cases[0][max(key for key in scenario.cases[0] if key.endswith("algorithm"))]
        found[name] = [
            "tested" if flow["algorithm"] == under_test else flow["algorithm"] for flow in run["flows"]
        ]
    assert found["one"] == found["one-without-loss"] == ["tested"]
    assert found["two"] == ["tested", "tested"]
    assert found["four"] == ["tested"] * 4
    assert found["joins-reno"][0] in ("reno", "tested")
    assert found["joins-cubic"][0] in ("cubic", "tested")
    assert found["joins-reno"][1] == found["joins-cubic"][1] == "tested"


def test_the_second_flow_starts_ten_seconds_after_the_first_within_the_jitter() -> None:
    for planned in SAMPLED["two"].runs()[:50]:
        first, second = (flow["start_ns"] / 1e9 for flow in planned.run["flows"])
        assert 9 <= second - first <= 11


def test_a_cell_with_randomness_has_ten_runs_and_one_without_has_one() -> None:
    for name, scenario in SAMPLED.items():
        assert scenario.repetitions == (1 if name == "one-without-loss" else REPETITIONS)
        losses = {case["path.loss"] for case in scenario.cases}
        if name.startswith("one"):
            assert ("0 %" in losses) == (name == "one-without-loss")


def test_runs_over_fast_links_carry_a_bounded_volume_or_last_five_seconds() -> None:
    for case in SAMPLED["four"].cases:
        megabits = amount(case["path.rate"]) * amount(case["duration"])
        assert megabits <= 60 * 15 * 1.01 or case["duration"] == "5 s"


def test_every_setting_of_hosts_is_compared_or_cannot_be() -> None:
    of_a_kernel_or_an_algorithm = {"profile", "hz", "hystart"}
    that_linux_6_1_lacks = {"reduction", "fack", "early_retransmit", "impatient", "rcvbuf_tuning"}
    that_matter_on_other_paths = {
        "ecn": "queues that mark",
        "txqueuelen": "devices with a rate",
        "clock_offset": "LP behind synchronised clocks",
    }
    not_compared = of_a_kernel_or_an_algorithm | that_linux_6_1_lacks | set(that_matter_on_other_paths)
    compared = {key for settings in HOSTS for key in settings}
    assert compared | not_compared == set(Hosts.model_fields)
    assert not compared & not_compared
