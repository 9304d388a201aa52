"""The table [hosts] of a scenario: what it becomes in runs, and what is refused."""

from pathlib import Path
from typing import Any

import pytest

from commandline import refused
from tussle.errors import TussleError
from tussle.scenario import Scenario


def scenario(algorithm: str = "reno", **more: Any) -> Scenario:
    path = {"rate": "20 Mbit/s", "rtt": "40 ms"}
    return Scenario.from_dict({"duration": "2 s", "path": path, "flows": [{"algorithm": algorithm}], **more})


def test_hosts_have_the_defaults_of_linux():
    [planned] = scenario().runs()
    assert planned.run["hosts"] == {"timestamps": "random"}


def test_timestamps_are_an_axis():
    both = scenario(hosts={"timestamps": ["random", "synchronised"]})
    assert both.axes() == {"hosts.timestamps": ("random", "synchronised")}
    assert [planned.run["hosts"]["timestamps"] for planned in both.runs()] == ["random", "synchronised"]


def test_hosts_come_back_from_the_text_of_a_scenario(tmp_path: Path):
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
