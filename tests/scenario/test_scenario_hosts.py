"""The table [hosts] of a scenario: its form in runs, and its errors."""

import itertools
from pathlib import Path
from typing import Any

import pytest

from commandline import refused
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.host_profiles import host_profiles
from tussle.scenario import Scenario
from tussle.scenario.hosts import Hosts


def scenario(algorithm: str = "reno", **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms"}
    return Scenario.from_dict({"duration": "2 s", "path": path, "flows": [{"algorithm": algorithm}], **more})


def test_hosts_are_bare_by_default():
    [planned] = scenario().runs()
    bare = host_profiles()["bare"].values
    of_flows = {"hystart", "ecn", "pacing"}
    assert planned.run["hosts"] == {key: value for key, value in bare.items() if key not in of_flows}
    [flow] = planned.run["flows"]
    assert (flow["ecn"], flow["pacing"], flow["receive_window_bytes"]) == (False, False, None)
    assert not {"sender", "receiver"} & planned.run["flows"][0].keys()


@pytest.mark.parametrize("name", host_profiles())
def test_every_profile_makes_a_run_and_names_a_source_for_each_value(name: str):
    [planned] = scenario(hosts={"profile": name}, repetitions=1).runs()
    assert engine("sim").execute(planned.run)["flows"]["delivered_bytes"][0] > 1_000_000
    profile = host_profiles()[name]
    assert profile.values.keys() == profile.sources.keys() == host_profiles()["bare"].values.keys()
    assert all(profile.sources.values())


AXES: dict[str, list[Any]] = {
    "profile": ["bare", "linux-2.6.24"],
    "hz": [100, 250, 1000],
    "timestamps": ["random", "synchronised"],
    "growth": ["packet", "ack"],
    "sack": [True, False],
    "dsack": [True, False],
    "recovery": ["rack", "rfc6675", "newreno"],
    "prr": [True, False],
    "tlp": [True, False],
    "frto": [True, False],
    "initial_cwnd": [1, 3, 10],
    "initial_ssthresh": [2, 64],
    "slow_start_after_idle": [True, False],
    "hystart": [True, False],
    "ecn": [True, False],
    "pacing": [True, False],
    "receive_window": ["20 kB", "40 kB"],
}


def test_the_axes_below_are_all_settings():
    assert set(AXES) == set(Hosts.model_fields)


@pytest.mark.parametrize("key", AXES)
def test_each_setting_of_hosts_is_an_axis(key: str):
    varied = scenario(hosts={key: AXES[key]}, flows=[{"algorithm": "cubic"}], repetitions=1)
    assert varied.axes() == {f"hosts.{key}": tuple(AXES[key])}
    runs = [planned.run for planned in varied.runs()]
    described = [(run["hosts"], run["flows"]) for run in runs]
    assert all(one != other for one, other in itertools.pairwise(described))
    assert all(engine("sim").execute(run)["flows"]["delivered_bytes"][0] > 0 for run in runs)


def test_switches_are_named_as_scenarios_write_them():
    runs = scenario(hosts={"sack": [True, False]}).runs()
    assert [planned.axes["hosts.sack"] for planned in runs] == ["true", "false"]


def test_newreno_is_recovery_without_sack():
    [newreno], [without] = (
        scenario(hosts=hosts).runs() for hosts in ({"recovery": "newreno"}, {"sack": False})
    )
    assert newreno.run["hosts"] == without.run["hosts"]


def test_hystart_is_the_parameter_of_cubic_unless_a_flow_gives_it():
    flows = [
        {"algorithm": "cubic"},
        {"algorithm": "cubic", "parameters": {"hystart": 1}},
        {"algorithm": "bic"},
    ]
    [planned] = scenario(hosts={"hystart": False}, flows=flows).runs()
    assert [flow["parameters"] for flow in planned.run["flows"]] == [{"hystart": 0}, {"hystart": 1}, {}]


def test_a_flow_may_have_hosts_of_its_own():
    own = {"algorithm": "reno", "sender": {"initial_cwnd": 3}, "receiver": {"profile": "linux-2.6.24"}}
    [planned] = scenario(hosts={"hz": 1000}, flows=[{"algorithm": "reno"}, own]).runs()
    first, second = planned.run["flows"]
    assert not {"sender", "receiver"} & first.keys()
    # What an end leaves out is that of [hosts], unless it has a profile of its own.
    assert second["sender"] == planned.run["hosts"] | {"initial_cwnd": 3}
    assert (second["receiver"]["hz"], second["receiver"]["growth"]) == (250, "ack")


def test_an_end_that_changes_nothing_is_left_out():
    [planned] = scenario(flows=[{"algorithm": "reno", "sender": {"sack": True}}]).runs()
    assert "sender" not in planned.run["flows"][0]


def test_a_setting_that_an_end_in_a_run_does_not_have_leaves_it_out():
    [planned] = scenario(flows=[{"algorithm": "cubic", "sender": {"hystart": False}}]).runs()
    [flow] = planned.run["flows"]
    assert "sender" not in flow
    assert flow["parameters"] == {"hystart": 0}


def test_one_end_without_sack_is_enough():
    """Losses cost NewReno a round trip each; the other end cannot help."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": "1 %"}
    ends = ({}, {"sender": {"sack": False}}, {"receiver": {"sack": False}})
    runs = [
        Scenario.from_dict(
            {"duration": "20 s", "path": path, "repetitions": 1, "flows": [{"algorithm": "reno"} | end]}
        ).runs()[0]
        for end in ends
    ]
    both, sender, receiver = (engine("sim").execute(planned.run)["flows"] for planned in runs)
    assert sender["delivered_bytes"][0] == receiver["delivered_bytes"][0] < both["delivered_bytes"][0]


def test_timestamps_are_an_axis():
    both = scenario(hosts={"timestamps": ["random", "synchronised"]})
    assert both.axes() == {"hosts.timestamps": ("random", "synchronised")}
    assert [planned.run["hosts"]["timestamps"] for planned in both.runs()] == ["random", "synchronised"]


def test_hosts_survive_writing_and_reading_a_scenario(tmp_path: Path):
    written = scenario(hosts={"timestamps": "synchronised"})
    (tmp_path / "it.toml").write_text(written.to_toml(), "utf-8")
    assert Scenario.load(tmp_path / "it.toml") == written
    assert scenario().set("hosts.timestamps", "synchronised") == written


@pytest.mark.parametrize(
    ("algorithm", "timestamps", "repetitions"),
    [("cubic", "random", 1), ("lp", "random", 10), ("lp", "synchronised", 1)],
)
def test_only_lp_is_repeated_for_random_timestamps(algorithm: str, timestamps: str, repetitions: int):
    assert len(scenario(algorithm, hosts={"timestamps": timestamps}).runs()) == repetitions


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        ({"timestamps": "of"}, 'scenario, hosts.timestamps: "of"; give "random" or "synchronised"'),
        (
            {"timestamps": "synchronized"},
            'scenario, hosts.timestamps: "synchronized"; did you mean "synchronised"? '
            'give "random" or "synchronised"',
        ),
        ({"timestamps": 1}, 'scenario, hosts.timestamps: 1; give "random" or "synchronised"'),
        ({"hz": 50}, "scenario, hosts.hz: 50; give 100 to 1000"),
        ({"initial_cwnd": 0}, "scenario, hosts.initial_cwnd: 0; give 1 to 65536"),
        ({"initial_ssthresh": 1}, "scenario, hosts.initial_ssthresh: 1; give 2 to 65536"),
        (
            {"recovery": "fack"},
            'scenario, hosts.recovery: "fack"; did you mean "rack"? give "rack" or "rfc6675" or "newreno"',
        ),
        (
            {"profile": "linux-2.6.23"},
            'scenario, hosts.profile: unknown host profile "linux-2.6.23"; did you mean "linux-2.6.32"?',
        ),
        (
            {"profile": "linux-2.6.24", "recovery": "rack"},
            'scenario, hosts.recovery: "rack"; linux-2.6.24 never had it; leave it out, or give another '
            "profile",
        ),
        (
            {"timestamp": "random"},
            'scenario, hosts: unknown key "timestamp"; did you mean "timestamps"?',
        ),
        ("linux", 'scenario, hosts: "linux" is not a table; write its keys under [hosts]'),
    ],
)
def test_unknown_settings_of_hosts_are_refused(hosts: Any, message: str):
    with pytest.raises(TussleError) as raised:
        scenario(hosts=hosts)
    assert str(raised.value) == message


def test_the_command_sets_timestamps_and_refuses_others(tussle_: Any, tmp_path: Path):
    (tmp_path / "it.toml").write_text(scenario().to_toml(), "utf-8")
    answer = tussle_("run", "it.toml", "--set", "hosts.timestamps=synchronised", "-o", "out")
    assert answer.status == 0
    assert Scenario.load(tmp_path / "out" / "scenario.toml").hosts.timestamps == "synchronised"
    message = refused(tussle_("run", "it.toml", "--set", "hosts.timestamps=of", "-o", "other"))
    assert message.endswith('hosts.timestamps: "of"; give "random" or "synchronised"')
