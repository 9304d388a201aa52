"""Scenario files, and the runs that they describe."""

import json
import pickle
import tomllib
from pathlib import Path
from typing import Any

import pytest

from tussle import _core
from tussle.catalog import Group, catalog, groups
from tussle.errors import TussleError
from tussle.profiles import profiles
from tussle.scenario import Scenario, ready_scenarios
from written import WRITTEN, scenario


def run(**changes: Any) -> dict[str, Any]:
    (point,) = scenario(**changes).points()
    return point.resolve(seed=1)


def element(resolved: dict[str, Any], name: str) -> dict[str, Any]:
    (found,) = [each for each in resolved["elements"] if each["name"] == name]
    return found


# --- what is written ---


def test_the_toml_and_the_python_form_are_equal(tmp_path: Path):
    file = tmp_path / "reno.toml"
    file.write_text(WRITTEN, encoding="utf-8")
    in_python = Scenario.from_dict(
        {
            "question": "Does Reno fill the link?",
            "duration": "60 s",
            "path": {"rate": "100 Mbit/s", "rtt": "40 ms"},
            "flows": [{"algorithm": "reno"}],
        }
    )
    assert Scenario.load(file) == in_python


def test_a_byte_order_mark_is_ignored(tmp_path: Path):
    file, trace = tmp_path / "reno.toml", tmp_path / "uplink.txt"
    file.write_text(WRITTEN.replace('rate = "100 Mbit/s"', f'trace = "{trace}"'), encoding="utf-8-sig")
    trace.write_text("10\n20\n", encoding="utf-8-sig")
    assert file.read_bytes()[:3] == trace.read_bytes()[:3] == b"\xef\xbb\xbf"
    (point,) = Scenario.load(file).points()
    assert element(point.resolve(seed=1), "bottleneck")["opportunities_ms"] == (10, 20)


def test_keyword_arguments_make_an_equal_scenario():
    written = Scenario.from_dict(tomllib.loads(WRITTEN))
    path = {"rate": "100 Mbit/s", "rtt": "40 ms"}
    flows = [{"algorithm": "reno"}]
    question = "Does Reno fill the link?"
    assert Scenario(question=question, duration="60 s", path=path, flows=flows) == written  # pyright: ignore[reportArgumentType]
    with pytest.raises(TussleError, match=r"scenario, path\.rate: 0 bit/s; give more than 0"):
        Scenario(duration="60 s", path={"rate": "0 bit/s", "rtt": 0}, flows=flows)  # pyright: ignore[reportArgumentType]


def test_a_scenario_written_back_is_equal():
    original = scenario(
        path__queue__limit=["0.1 bdp", "300 kB"], steady={"from": "10 s"}, flows__0__count=[1, 2]
    )
    again = Scenario.from_dict(tomllib.loads(original.to_toml()))
    assert again == original
    assert again.to_toml() == original.to_toml()
    assert [each.run for each in again.runs()] == [each.run for each in original.runs()]


def test_a_scenario_is_immutable():
    original = scenario()
    changed = original.set("path.rate", "50 Mbit/s")
    assert (original.path.rate, changed.path.rate) == ("100 Mbit/s", "50 Mbit/s")


def test_a_setting_reaches_flows_by_their_number_and_makes_tables():
    changed = scenario(flows__0__algorithm="cubic", path__reverse__rate="1 Mbit/s")
    assert changed.flows[0].algorithm == "cubic"
    assert changed.path.reverse.rate == "1 Mbit/s"


def test_settings_are_checked_together():
    """Half of these settings would be invalid alone, because the run is 60 s long."""
    assert scenario(duration="200 s", steady__from="100 s").steady.from_ == "100 s"


def test_the_json_schema_describes_every_key():
    schema = Scenario.model_json_schema()
    tables = [schema, *schema["$defs"].values()]
    described = [field.get("description") for table in tables for field in table["properties"].values()]
    assert len(described) > 30
    assert all(described)


# --- the runs it stands for ---


def test_a_resolved_run_is_valid_for_the_simulator():
    for planned in scenario(
        path__profile="dsl", flows__0__access={"rate": "1 Gbit/s", "delay": "1 ms"}
    ).runs():
        _core.check(json.dumps(planned.run))


def test_the_base_round_trip_is_shared_by_both_directions():
    resolved = run(path__rtt="40.000001 ms")
    assert (
        element(resolved, "bottleneck")["delay_ns"] + element(resolved, "bottleneck-reverse")["delay_ns"]
        == 40_000_001
    )


@pytest.mark.parametrize(
    ("written", "limit"),
    [
        ("1 bdp", {"limit_packets": 333}),  # 100e6 bit/s x 0.04 s / 12000 bit = 333.3
        ("0.1 bdp", {"limit_packets": 33}),
        ("0.0001 bdp", {"limit_packets": 1}),
        ("100 packets", {"limit_packets": 100}),
        ("300 kB", {"limit_bytes": 300_000}),
        ("40 ms", {"limit_bytes": 500_000}),  # 100e6 bit/s x 0.04 s / 8 bit
        ("1 ns", {"limit_bytes": 1500}),
    ],
)
def test_a_buffer_is_resolved_to_packets_or_bytes(written: str, limit: dict[str, int]):
    assert element(run(path__queue__limit=written), "bottleneck")["queue"] == {"kind": "fifo", **limit}


def test_the_reverse_path_equals_the_forward_path_without_losses():
    resolved = run(path__loss="1 %", path__queue__limit="50 packets")
    forward_link, reverse_link = element(resolved, "bottleneck"), element(resolved, "bottleneck-reverse")
    assert {**forward_link, "name": ""} == {**reverse_link, "name": ""}
    assert resolved["flows"][0]["forward"] == ["loss", "bottleneck"]
    assert resolved["flows"][0]["reverse"] == ["bottleneck-reverse"]


def test_the_reverse_path_may_be_slower_and_lossy():
    resolved = run(path__reverse={"rate": "1 Mbit/s", "loss": "0.01 %", "queue": {"limit": "2 bdp"}})
    reverse_link = element(resolved, "bottleneck-reverse")
    # 1e6 bit/s x 0.04 s / 12000 bit x 2 = 6.67
    assert (reverse_link["rate_bit_per_s"], reverse_link["queue"]["limit_packets"]) == (1_000_000, 7)
    assert element(resolved, "loss-reverse")["probability"] == 0.0001


def test_a_flow_passes_its_own_links_in_order():
    resolved = run(
        path__loss="1 %",
        flows__0={
            "algorithm": "reno",
            "access": {"delay": "2 ms"},
            "receiver_access": {"rate": "1 Gbit/s"},
        },
    )
    (flow,) = resolved["flows"]
    assert flow["forward"] == ["flow-0-access", "loss", "bottleneck", "flow-0-receiver"]
    assert flow["reverse"] == ["flow-0-receiver-reverse", "bottleneck-reverse", "flow-0-access-reverse"]
    assert element(resolved, "flow-0-access") == {
        "name": "flow-0-access",
        "kind": "delay",
        "delay_ns": 2_000_000,
    }
    assert element(resolved, "flow-0-receiver")["queue"] == {"kind": "fifo"}


def test_flows_are_counted_and_named():
    flows = [
        {"algorithm": "reno", "count": 2},
        {"algorithm": "cubic", "name": "late", "count": 2},
        {"algorithm": "bic"},
    ]
    resolved = run(flows=flows)
    assert [flow["name"] for flow in resolved["flows"]] == ["flow-0", "flow-1", "late-0", "late-1", "flow-4"]


@pytest.mark.parametrize(
    ("changes", "from_s", "to_s"),
    [
        ({}, 20, 60),
        ({"flows": [{"algorithm": "reno"}, {"algorithm": "reno", "start": "30 s"}]}, 40, 60),
        ({"flows": [{"algorithm": "reno", "stop": "30 s"}, {"algorithm": "reno"}]}, 10, 30),
        # They share no time: the first is gone before the second comes.
        ({"flows": [{"algorithm": "reno", "stop": "10 s"}, {"algorithm": "reno", "start": "30 s"}]}, 20, 60),
        ({"start_jitter": "3 s"}, 22, 60),
        ({"steady": {"from": "5 s"}}, 5, 60),
        ({"steady": {"from": "5 s", "to": "10 s"}}, 5, 10),
    ],
)
def test_the_steady_interval_is_the_shared_time_without_its_first_third(changes, from_s: int, to_s: int):
    assert run(**changes)["steady"] == {"from_ns": from_s * 10**9, "to_ns": to_s * 10**9}


@pytest.mark.parametrize(
    ("samples", "sampling"), [("off", "off"), ("change", "change"), ("100 ms", {"every_ns": 100_000_000})]
)
def test_recording_is_off_on_change_or_at_an_interval(samples: str, sampling: object):
    assert run(record__samples=samples)["record"] == {"sampling": sampling, "events": False}


def test_explicit_keys_override_a_profile():
    resolved = (
        Scenario.from_dict(
            {
                "duration": "10 s",
                "path": {"profile": "dsl", "rtt": "20 ms", "queue": {"limit": "9 packets"}},
                "flows": [{"algorithm": "reno"}],
            }
        )
        .runs()[0]
        .run
    )
    forward_link, reverse_link = element(resolved, "bottleneck"), element(resolved, "bottleneck-reverse")
    assert (
        forward_link["rate_bit_per_s"],
        forward_link["delay_ns"],
        forward_link["queue"]["limit_packets"],
    ) == (
        12_000_000,
        10_000_000,
        9,
    )
    assert (reverse_link["rate_bit_per_s"], reverse_link["queue"]["limit_bytes"]) == (
        1_000_000,
        75_000,
    )  # 600 ms at 1 Mbit/s


@pytest.mark.parametrize("name", profiles())
def test_every_profile_has_a_source_and_runs(name: str):
    assert profiles()[name].source
    _core.check(json.dumps(run(path={"profile": name})))


@pytest.mark.parametrize("name", ready_scenarios())
def test_every_ready_scenario_has_a_question_and_runs(name: str):
    ready = Scenario.load(ready_scenarios()[name])
    assert ready.question is not None
    assert ready.question.endswith("?")
    for planned in ready.runs():
        _core.check(json.dumps(planned.run))


# --- axes, repetitions, seeds ---


def test_a_list_makes_one_run_per_value():
    points = scenario(path__rate=["10 Mbit/s", "50 Mbit/s"], flows__0__algorithm=["reno", "cubic"]).points()
    assert [point.axes for point in points] == [
        {"path.rate": "10 Mbit/s", "flows.0.algorithm": "reno"},
        {"path.rate": "10 Mbit/s", "flows.0.algorithm": "cubic"},
        {"path.rate": "50 Mbit/s", "flows.0.algorithm": "reno"},
        {"path.rate": "50 Mbit/s", "flows.0.algorithm": "cubic"},
    ]
    assert points[3].scenario == scenario(path__rate="50 Mbit/s", flows__0__algorithm="cubic")


def test_the_order_of_keys_does_not_affect_run_numbers():
    tables = scenario(path__rate=["10 Mbit/s", "50 Mbit/s"], flows__0__algorithm=["reno", "cubic"]).to_dict()
    backwards = Scenario.from_dict(dict(reversed(tables.items())))
    assert [point.axes for point in backwards.points()] == [
        point.axes for point in Scenario.from_dict(tables).points()
    ]


def test_a_group_is_replaced_by_the_list_of_its_algorithms():
    thirteen = list(groups()["linux13"].algorithms)
    assert len(thirteen) == 13
    assert scenario(flows__0__algorithm="linux13") == scenario(flows__0__algorithm=thirteen)
    beside = scenario(flows__0__algorithm=["vegas", "linux13", "bbr"]).axes()["flows.0.algorithm"]
    assert beside == ("vegas", *(name for name in thirteen if name != "vegas"), "bbr")


@pytest.mark.parametrize("group", groups().values(), ids=groups())
def test_every_group_has_a_description_and_only_existing_algorithms(group: Group):
    assert group.about
    assert set(group.algorithms) <= set(catalog().algorithms)
    assert scenario(flows__0__algorithm=group.name).axes() == {"flows.0.algorithm": group.algorithms}


def test_a_profile_and_a_parameter_can_be_axes():
    points = scenario(path={"profile": ["lan", "dsl"]}, flows__0__count=[1, 4]).points()
    rates = [element(point.resolve(1), "bottleneck")["rate_bit_per_s"] for point in points]
    assert rates == [100_000_000, 100_000_000, 12_000_000, 12_000_000]
    assert [len(point.resolve(1)["flows"]) for point in points] == [1, 4, 1, 4]


def test_repetitions_have_distinct_seeds_that_are_equal_across_points():
    runs = scenario(path__rate=["10 Mbit/s", "50 Mbit/s"], repetitions=3, start_jitter="1 s").runs()
    assert [(each.index, each.point, each.repetition) for each in runs[:4]] == [
        (0, 0, 0),
        (1, 0, 1),
        (2, 0, 2),
        (3, 1, 0),
    ]
    assert [each.seed for each in runs[:3]] == [each.seed for each in runs[3:]]
    assert len({each.seed for each in runs}) == 3
    starts = [each.run["flows"][0]["start_ns"] for each in runs]
    assert starts[:3] == starts[3:]
    assert len(set(starts)) == 3
    assert all(0 <= start < 10**9 for start in starts)


@pytest.mark.parametrize(
    ("changes", "parts"),
    [
        ({"start_jitter": "1 ms"}, ["start_jitter"]),
        ({"path__loss": "1 %"}, ["loss"]),
        ({"path__queue__kind": "pie"}, ["bottleneck", "bottleneck-reverse"]),
        ({"flows__0__algorithm": ["reno", "bbr"]}, ["flow-0"]),
        ({"path__loss": ["0 %", "1 %"], "start_jitter": "1 ms"}, ["start_jitter", "loss"]),
    ],
)
def test_a_scenario_with_randomness_is_repeated_ten_times(changes: dict[str, Any], parts: list[str]):
    random = scenario(**changes)
    assert random.random_parts() == parts
    runs = random.runs()
    assert [run.repetition for run in runs] == list(range(10)) * len(random.points())
    assert len({run.seed for run in runs}) == 10


def test_a_scenario_in_which_nothing_is_random_runs_each_point_once():
    plain = scenario(flows__0__algorithm=["reno", "cubic", "vegas"])
    assert plain.random_parts() == []
    assert [run.repetition for run in plain.runs()] == [0, 0, 0]


def test_an_explicit_number_of_repetitions_is_kept():
    assert len(scenario(repetitions=3).runs()) == 3
    assert len(scenario(repetitions=1, path__loss="1 %").runs()) == 1
    assert "repetitions" not in scenario(path__loss="1 %").to_dict()


def test_default_repetitions_count_towards_the_limit_on_runs(monkeypatch: pytest.MonkeyPatch):
    """Two points make 20 runs."""
    monkeypatch.setattr("tussle.scenario.model.MOST_RUNS", 19)
    with pytest.raises(TussleError, match="make more than 19 runs; shorten a list, or write repetitions"):
        scenario(path__loss=["1 %", "2 %"]).runs()


def test_another_seed_gives_other_samples():
    assert scenario(seed=1).runs()[0].seed != scenario(seed=2).runs()[0].seed


def test_seeds_are_the_same_on_every_platform_and_in_every_version():
    assert [each.seed for each in scenario(repetitions=2).runs()] == [4457500809491821, 7076486578090334]


def test_a_scenario_with_tables_of_several_kinds_survives_pickling():
    """Workers of a sweep and of a report receive scenarios as pickles."""
    application = {"kind": ["rate", "on_off"], "rate": "1 Mbit/s", "on": "1 s", "off": "1 s"}
    written = {
        "duration": "1 s",
        "path": {
            "profile": "lan",
            "queue": {"kind": ["fifo", "codel"], "limit": "50 packets"},
            "elements": [{"kind": ["loss_periodic", "jitter"], "every_packets": 100, "delay": "1 ms"}],
        },
        "flows": [{"algorithm": "reno", "application": application}],
    }
    for one in (Scenario.from_dict(written), scenario()):
        assert pickle.loads(pickle.dumps(one)) == one  # noqa: S301
