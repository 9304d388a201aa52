"""Changes of the path during a run: their settings, and their execution by the simulator."""

import json
import tomllib
from typing import Any

import polars as pl
import pytest

from tussle import _core
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.profiles import profiles
from tussle.scenario import Scenario
from written import WRITTEN, scenario

SLOWER = {"at": "20 s", "rate": "50 Mbit/s"}
FURTHER = {"at": "30 s", "rtt": "80.000001 ms"}


def changes(made: Scenario) -> list[tuple[Any, Any]]:
    """Return the changes of both directions at each point after the simulator has accepted them."""
    found = []
    for point in made.points():
        run = point.resolve(seed=1)
        _core.check(json.dumps(run))
        by_name = {each["name"]: each for each in run["elements"]}
        found.append(tuple(by_name[name].get("changes") for name in ("bottleneck", "bottleneck-reverse")))
    return found


def mistakes(**changes: Any) -> list[str]:
    with pytest.raises(TussleError) as refused:
        scenario(**changes)
    return str(refused.value).splitlines()


def test_a_path_without_changes_has_none_in_its_run():
    assert changes(scenario()) == [(None, None)]


def test_rates_change_both_ways_and_the_round_trip_is_halved():
    rate = {"at_ns": 20_000_000_000, "rate_bit_per_s": 50_000_000}
    delay = {"at_ns": 30_000_000_000, "delay_ns": 40_000_000}
    ((forward, reverse),) = changes(scenario(path__changes=[SLOWER, FURTHER]))
    assert forward == [rate, delay]
    assert reverse == [rate, {**delay, "delay_ns": 40_000_001}]


def test_a_reverse_path_with_its_own_rate_keeps_it():
    ((_, reverse),) = changes(scenario(path__reverse__rate="1 Mbit/s", path__changes=[SLOWER]))
    assert reverse is None
    own = {**SLOWER, "reverse_rate": "2 Mbit/s"}
    ((_, reverse),) = changes(scenario(path__reverse__rate="1 Mbit/s", path__changes=[own]))
    assert reverse == [{"at_ns": 20_000_000_000, "rate_bit_per_s": 2_000_000}]


def test_a_list_in_a_change_is_an_axis():
    made = scenario(path__changes=[SLOWER, {**FURTHER, "rtt": ["60 ms", "80 ms"]}])
    assert made.axes() == {"path.changes.1.rtt": ("60 ms", "80 ms")}
    assert [forward[1]["delay_ns"] for forward, _ in changes(made)] == [30_000_000, 40_000_000]


def test_changes_are_written_back_as_tables():
    text = WRITTEN.replace("[[flows]]", '[[path.changes]]\nat = "20 s"\nrate = "50 Mbit/s"\n\n[[flows]]')
    made = Scenario.from_dict(tomllib.loads(text))
    assert made == scenario(path__changes=[SLOWER])
    assert Scenario.from_dict(tomllib.loads(made.to_toml())) == made


def test_an_empty_list_removes_the_changes_of_a_profile(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setitem(profiles()["lan"].path, "changes", [SLOWER])
    assert changes(scenario(path__profile="lan"))[0][0] is not None
    assert changes(scenario(path__profile="lan", path__changes=[])) == [(None, None)]


@pytest.mark.parametrize(
    ("written", "sentence"),
    [
        ([{"at": "20 s"}], "scenario, path.changes.0: nothing changes; give a rate, an rtt or both"),
        (
            [SLOWER, {"at": "20 s", "rtt": "1 ms"}],
            "scenario, path.changes.1.at: 20 s is not after the change before it at 20 s",
        ),
        (
            [{**SLOWER, "at": "60 s"}],
            "scenario, path.changes.0.at: 60 s is not before the end of the run at 60 s",
        ),
        ([{"rate": "1 Mbit/s"}], 'scenario, path.changes.0.at: missing; give the time, like at = "20 s"'),
        ([{**SLOWER, "rate": "0 bit/s"}], "scenario, path.changes.0.rate: 0 bit/s; give more than 0"),
        ([{**SLOWER, "rat": 1}], 'scenario, path.changes.0: unknown key "rat"; did you mean "rate"?'),
        (
            3,
            "scenario, path.changes: 3 is not a list of tables; write [[path.changes]] above each",
        ),
    ],
)
def test_a_mistake_in_a_change_is_reported_in_one_sentence(written: Any, sentence: str):
    assert mistakes(path__changes=written) == [sentence]


def test_utilisation_is_of_the_rate_in_force_and_each_change_is_an_event():
    """100 Mbit/s for 20 s, 50 for 20, 100 for 20: 250 + 125 + 250 MB, sent all the time after the start."""
    again = {"at": "40 s", "rate": "100 Mbit/s"}
    made = scenario(
        path__changes=[SLOWER, again], flows__0__algorithm="cubic", record={"samples": "1 s", "events": True}
    )
    tables = engine("sim").execute(made.runs()[0].run)
    forward = tables["links"].filter(pl.col("link") == "bottleneck")
    assert all(used > 0.95 for used in forward.filter(pl.col("time_s") > 2)["utilisation"])
    by_time = dict(zip(forward["time_s"], forward["delivered_bytes"], strict=True))
    slow = by_time[40.0] - by_time[20.0]
    assert slow == pytest.approx(125e6, abs=1500)
    made_changes = tables["events"].filter(pl.col("kind") == "path_change")
    both = [
        (20.0, "bottleneck"),
        (20.0, "bottleneck-reverse"),
        (40.0, "bottleneck"),
        (40.0, "bottleneck-reverse"),
    ]
    assert made_changes.select("time_s", "link").rows() == both
    assert made_changes["flow"].null_count() == len(both)
