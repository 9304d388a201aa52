"""The duration that `tussle matrix` chooses: the convergence time of flows, up to a limit."""

import pytest

from tussle.experiment import REPETITIONS_OF_PAIRS, chosen_duration
from tussle.experiment._start import chosen_start
from tussle.scenario import Bottleneck, Scenario
from tussle.statistics import LEAST


def pairs(**path: object) -> Scenario:
    flows = [{"algorithm": ["reno", "cubic"]}, {"algorithm": ["reno", "cubic"], "start": "10 s"}]
    return Scenario.from_dict({"duration": "2 h", "path": path, "flows": flows})


def test_the_sawtooth_of_reno_is_used_where_it_is_the_longer_one():
    """12 Mbit/s, 40 ms and 130 packets: 170 packets are in flight; 85 round trips of 170 ms."""
    assert Bottleneck(12e6, 40_000_000, 130).sawtooth_s == pytest.approx(85 * 0.170)


def test_the_sawtooth_of_cubic_is_used_on_a_short_path():
    """100 Mbit/s, 0.3 ms and 100 packets: 102.5 packets; (0.3 * 102.5 / 0.4)^(1/3) = 4.25 s, Reno 0.63 s."""
    assert Bottleneck(100e6, 300_000, 100).sawtooth_s == pytest.approx(4.25, abs=0.005)


def test_a_path_without_a_rate_has_no_sawtooth():
    assert Bottleneck.of_run({"elements": []}).sawtooth_s is None


@pytest.mark.parametrize(
    ("profile", "duration", "why"),
    [
        (
            "lan",
            "70 s",
            "each run lasts 70 s (duration changes it): flows may need 70 s to converge, 12 sawtooth "
            "periods of 4.3 s",
        ),
        ("dsl", "190 s", "each run lasts 190 s (duration changes it): flows may need 190 s"),
        ("geo", "1620 s", "each run lasts 1620 s (duration changes it): flows may need 1620 s"),
        # 10^7 packets of 12 000 bit at 200 Mbit/s are 600 s
        ("wan", "600 s", "each run lasts 600 s (duration changes it): flows may need 4020 s"),
        # at 10 Gbit/s they are 12 s, less than the least
        ("datacenter", "60 s", "each run lasts 60 s (duration changes it): flows may need 90 s"),
    ],
)
def test_the_duration_follows_from_the_path(profile: str, duration: str, why: str):
    chosen = chosen_duration(pairs(profile=profile))
    assert chosen.settings["duration"] == duration
    assert chosen.reason.startswith(why)


def test_the_duration_is_at_most_two_hours():
    """10 000 packets at 10 kbit/s: Reno's sawtooth alone lasts 5000 round trips of 12 000 s."""
    path = {"rate": "10 kbit/s", "rtt": "40 ms", "queue": {"limit": "10000 packets"}}
    assert chosen_duration(pairs(**path)).settings["duration"] == "7200 s"


def test_pairs_have_as_many_repetitions_as_an_interval_needs():
    assert REPETITIONS_OF_PAIRS == LEAST


def test_the_slowest_of_several_paths_determines_the_duration():
    both = chosen_duration(pairs(rate="12 Mbit/s", rtt=["5 ms", "40 ms"], queue={"limit": "195 kB"}))
    slow = chosen_duration(pairs(rate="12 Mbit/s", rtt="40 ms", queue={"limit": "195 kB"}))
    assert both == slow


def test_long_runs_are_sampled_less_often():
    """1620 s in 2000 rows give one per 0.81 s, rounded up to a multiple of 100 ms."""
    assert chosen_duration(pairs(profile="geo")).settings["record.samples"] == "900 ms"
    assert "record.samples" not in chosen_duration(pairs(profile="dsl")).settings


@pytest.mark.slow
def test_matrix_prints_its_chosen_duration_and_keeps_a_given_one(tussle_, tmp_path):
    command = ["matrix", "--algorithms", "reno", "--repetitions", "1", "-o"]
    with_duration = tussle_(*command, tmp_path / "with-duration", "--duration", "20 s")
    assert with_duration.status == 0
    assert "flows may need" not in with_duration.problems
    set_ = tussle_(*command, tmp_path / "set", "--set", "duration=20 s")
    assert "flows may need" not in set_.problems
    chosen = tussle_(*command, tmp_path / "chosen")
    assert "each run lasts 70 s (--duration changes it): flows may need 70 s to converge" in chosen.problems


def test_a_wrong_stagger_without_a_duration_is_named(tussle_):
    answer = tussle_("matrix", "--stagger", "10 parsecs")
    assert answer.status == 2
    assert answer.problems.startswith("tussle: --stagger: ")


@pytest.mark.parametrize(
    ("duration", "stagger", "jitter"),
    [
        (None, "10 s", "20 ms"),
        ("20 s", "10 s", "20 ms"),
        ("15 s", "7500 ms", "20 ms"),
        (["1 min", "4 s", "5 s"], "2 s", "20 ms"),
        ("10 ms", "5 ms", "2.5 ms"),
        ("1 ns", "0 s", "0 s"),
        ("soon", "10 s", "20 ms"),
    ],
)
def test_the_second_flow_starts_after_half_of_a_short_run(duration: object, stagger: str, jitter: str):
    chosen = chosen_start(duration)
    assert (chosen.stagger, chosen.jitter) == (stagger, jitter)
    assert bool(chosen.reason) == (stagger != "10 s")
