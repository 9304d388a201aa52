"""Baseline runs: their plan, their execution and their tables."""

from collections import Counter
from pathlib import Path

import polars as pl
import pytest

from fake_engine import FakeEngine
from tussle.dataset import Dataset
from tussle.metrics import REGISTRY, axis_columns, pairs
from tussle.scenario import Point, Scenario
from tussle.sweep import SweepSettings, sweep

PAIRS = {
    "duration": "10 s",
    "repetitions": 2,
    "baseline": True,
    "start_jitter": "20 ms",
    "path": {"rate": "10 Mbit/s", "rtt": ["20 ms", "40 ms"]},
    "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": ["reno", "vegas"], "start": "2 s"}],
}


def scenario(**changes: object) -> Scenario:
    return Scenario.from_dict({**PAIRS, **changes})


@pytest.fixture
def dataset(tmp_path: Path) -> Dataset:
    return sweep(scenario(), tmp_path / "out", SweepSettings(workers=1, engine=FakeEngine()))


def test_each_flow_is_alone_once_for_each_network_and_repetition():
    """2 RTTs · (2 + 2) algorithms = 8 baseline points beside 8 pairs, twice each."""
    runs = scenario().runs()
    sizes = Counter(len(planned.run["flows"]) for planned in runs)
    assert sizes == {2: 16, 1: 16}
    assert [planned.index for planned in runs] == list(range(32))
    assert [planned.point for planned in runs] == [index // 2 for index in range(32)]
    alone = [planned.axes for planned in runs[16:] if planned.repetition == 0]
    assert alone[:2] == [
        {"path.rtt": "20 ms", "flows.0.algorithm": "reno", "baseline": "flow-0"},
        {"path.rtt": "20 ms", "flows.1.algorithm": "reno", "baseline": "flow-1"},
    ]


def test_a_baseline_run_has_the_same_flow_start_interval_and_seed():
    """Start, steady interval and seed are equal; only the competing flow is missing."""
    runs = scenario().runs()
    together, alone = runs[1].run, runs[19].run
    assert [flow["name"] for flow in alone["flows"]] == ["flow-1"]
    assert alone["flows"][0] == together["flows"][1]
    assert (alone["steady"], alone["seed"]) == (together["steady"], together["seed"])


def test_every_flow_has_one_baseline_run():
    """Scenarios vary in the network, in the competing flows, in their start and in their number."""
    varied = scenario(
        start_jitter=["0 s", "30 ms"],
        flows=[
            {"algorithm": ["reno", "bic"], "start": ["0 s", "1 s"], "count": [1, 2]},
            {"algorithm": ["reno", "vegas"], "start": ["2 s", "3 s"], "stop": ["8 s", "9 s"]},
        ],
    )
    runs = varied.runs()
    alone = [planned for planned in runs if "baseline" in planned.axes]
    for planned in (each for each in runs if "baseline" not in each.axes):
        for flow in planned.run["flows"]:
            own = [
                baseline.run
                for baseline in alone
                if baseline.repetition == planned.repetition
                and baseline.axes["baseline"] == flow["name"]
                and baseline.axes.items() - {("baseline", flow["name"])} <= planned.axes.items()
            ]
            assert [(run["flows"], run["steady"], run["seed"]) for run in own] == [
                ([flow], planned.run["steady"], planned.seed)
            ]


def test_a_baseline_run_omits_links_without_flows():
    slow = [{"algorithm": "reno", "access": {"delay": "5 ms"}}, {"algorithm": "reno"}]
    runs = scenario(flows=slow, repetitions=1).runs()
    names = [{element["name"] for element in planned.run["elements"]} for planned in runs[2:4]]
    assert "flow-0-access" in names[0]
    assert "flow-0-access" not in names[1]


def test_each_flow_of_a_count_has_its_own_baseline_run():
    flows = [{"algorithm": "reno", "count": [1, 2]}, {"algorithm": "cubic"}]
    path = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    runs = scenario(flows=flows, path=path, repetitions=1).runs()
    alone = [tuple(planned.axes.values()) for planned in runs[2:]]
    assert alone == [("1", "flow-0"), ("1", "flow-1"), ("2", "flow-0"), ("2", "flow-1"), ("2", "flow-2")]


def test_a_scenario_of_one_flow_needs_no_baseline_run():
    assert len(scenario(flows=[{"algorithm": "reno"}]).runs()) == 4


def test_a_scenario_without_baseline_has_no_baseline_runs(tmp_path: Path):
    dataset = sweep(scenario(baseline=False), tmp_path / "out", SweepSettings(workers=1, engine=FakeEngine()))
    assert dataset.baseline is None
    assert axis_columns(dataset) == ["path.rtt", "flows.0.algorithm", "flows.1.algorithm"]


def test_the_main_tables_exclude_baseline_runs(dataset: Dataset):
    assert dataset.runs.collect().height == 16
    assert dataset.flows.collect().height == 32
    assert axis_columns(dataset) == ["path.rtt", "flows.0.algorithm", "flows.1.algorithm"]
    assert pairs(dataset).height == 8


def test_baseline_runs_are_stored_in_the_same_dataset(dataset: Dataset):
    assert dataset.baseline is not None
    assert dataset.baseline.runs.collect()["baseline"].null_count() == 0
    for table in (
        dataset.baseline.runs,
        dataset.baseline.flows,
        dataset.baseline.samples,
        dataset.baseline.links,
    ):
        assert set(table.select(pl.col("run").unique()).collect()["run"]) == set(range(16, 32))
    dataset.verify()


def test_harm_finds_the_run_of_the_same_network_algorithm_and_repetition(dataset: Dataset):
    """The goodput of the fake engine depends on the link rate only, not on competitors."""
    harm = REGISTRY["harm"].compute(dataset)
    assert harm["throughput_harm"].to_list() == [0.0] * 32


def test_scenario_check_counts_baseline_runs(tussle_, tmp_path: Path):
    (tmp_path / "pairs.toml").write_text(scenario(baseline=False).to_toml())
    assert "alone" not in tussle_("scenario", "check", "pairs.toml").out
    lines = tussle_("scenario", "check", "pairs.toml", "--set", "baseline=true").out.splitlines()
    assert (lines[0], lines[-1]) == ("pairs.toml is valid: 32 runs", "  baseline runs: 16")


def test_on_and_off_are_read_as_booleans():
    assert scenario(baseline="on").baseline is True
    assert scenario(baseline="off").baseline is False


def test_baseline_runs_of_many_flows_resolve_the_point_once(monkeypatch: pytest.MonkeyPatch):
    """A thousand flows resolved a thousand times took eight seconds, two thousand took thirty-five."""
    resolved = []
    resolve = Point.resolve
    monkeypatch.setattr(Point, "resolve", lambda point, seed: resolved.append(seed) or resolve(point, seed))
    flows = [{"algorithm": "reno", "count": 300}]
    path = {"profile": "lan"}
    planned = Scenario.from_dict({"duration": "10 s", "baseline": True, "path": path, "flows": flows})
    assert len(planned.runs()) == 301
    assert len(resolved) == 2  # for the point itself, and for all of its baseline runs
