"""`tussle matrix --rtt`: another round-trip time, or flows with different ones."""

from pathlib import Path
from typing import Any

import pytest

import tussle
from commandline import refused
from tussle.cli import _sweep
from tussle.errors import TussleError
from tussle.experiment import pairs

MATRIX = ("matrix", "--algorithms", "reno,vegas", "--profile", "dsl")


def flows_of(rtt: str | list[str] | None) -> tuple[Any, list[Any]]:
    scenario = pairs(["reno", "vegas"], profile="dsl", rtt=rtt).scenario
    path = scenario.points()[0].scenario.path
    accesses = [flow.access.delay for flow in scenario.points()[0].scenario.flows]
    return path.rtt, accesses


def test_the_flow_with_the_longer_one_has_the_rest_on_its_access_link_half_in_each_direction():
    assert flows_of("20 ms, 80 ms") == ("20 ms", [None, "30 ms"])
    assert flows_of(["80ms", "20ms"]) == ("20ms", ["30 ms", None])
    assert flows_of("1.001 ms,1 ms") == ("1 ms", ["0.0005 ms", None])


def test_one_round_trip_time_is_that_of_both_flows():
    assert flows_of("20 ms") == ("20 ms", [None, None])
    assert flows_of("20 ms,20 ms") == ("20 ms", [None, None])
    assert flows_of(None) == (None, [None, None])


def test_runs_last_as_long_as_on_a_path_with_the_longer_one():
    unequal = pairs("reno", profile="dsl", rtt=["20 ms", "160 ms"]).scenario
    assert unequal.duration == pairs("reno", profile="dsl", rtt="160 ms").scenario.duration
    assert unequal.duration != pairs("reno", profile="dsl", rtt="20 ms").scenario.duration


def test_flows_measure_the_round_trip_times_that_were_asked_for(tmp_path: Path):
    """Four packets of 1500 B wait 1 ms at most at 50 Mbit/s; a serialisation and an ACK take 0.3 ms."""
    dataset = tussle.matrix(
        ["reno", "vegas"],
        rtt=("20 ms", "80 ms"),
        duration="5 s",
        stagger="0.5 s",
        repetitions=1,
        settings={"path.rate": "50 Mbit/s", "path.queue.limit": "4 packets"},
        output=tmp_path / "unequal",
        workers=1,
    )
    assert str(dataset.scenario.question).endswith("with round-trip times of 20 ms and 80 ms?")
    flows = dataset.flows.collect()
    for flow, rtt_ms in ((0, 20), (1, 80)):
        measured = flows.filter(flow=flow)["rtt_p50_ms"]
        assert measured.len() == 4
        assert measured.is_between(rtt_ms, rtt_ms + 1.5).all()


def test_the_command_has_the_option(tussle_, monkeypatch):
    monkeypatch.setattr(_sweep, "write_report", lambda _dataset, page, _workers: page)
    short = ("--duration", "5 s", "--stagger", "1 s", "--repetitions", 1, "--workers", 1)
    assert tussle_(*MATRIX, "--rtt", "20 ms,80 ms", *short, "-o", "unequal").status == 0
    assert [flow.access.delay for flow in tussle.open("unequal").scenario.flows] == [None, "30 ms"]


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--rtt", "20"), '--rtt: "20" has no unit; write a time like "40 ms"'),
        (
            ("--rtt", "1ms,2ms,3ms"),
            "--rtt: give one round-trip time, or those of the first and of the second",
        ),
        (
            ("--rtt", "1ms", "--set", "path.rtt=2 ms"),
            "--rtt and the setting path.rtt both set the round-trip time",
        ),
    ],
)
def test_other_values_are_refused(tussle_, options, sentence):
    assert sentence in refused(tussle_(*MATRIX, *options))


def test_a_round_trip_time_that_a_scenario_refuses_is_named():
    with pytest.raises(TussleError, match=r"^rtt: -1 ms is negative"):
        pairs("reno", rtt="-1 ms")
