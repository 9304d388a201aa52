"""Cases of a scenario: points that are listed individually."""

from pathlib import Path
from typing import Any

import pytest

from tussle.dataset import Dataset
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import sweep

TWO = [
    {"path.rate": "10 Mbit/s", "flows.0.algorithm": "cubic"},
    {"path.rate": "20 Mbit/s", "flows.0.algorithm": "bic"},
]


def with_cases(cases: object, **more: Any) -> Scenario:
    settings = {"duration": "2 s", "path": {"rtt": "20 ms"}, "flows": [{"algorithm": "reno"}], **more}
    return Scenario.from_dict({**settings, "cases": cases})


def test_each_case_is_a_point_with_the_values_of_all_its_keys() -> None:
    points = with_cases(TWO).points()
    assert [point.axes for point in points] == TWO
    assert [point.scenario.flows[0].algorithm for point in points] == ["cubic", "bic"]
    assert [point.resolve(1)["elements"][0]["rate_bit_per_s"] for point in points] == [10_000_000, 20_000_000]


def test_cases_meet_every_combination_of_the_axes_and_every_repetition() -> None:
    scenario = with_cases(TWO, path={"rtt": ["20 ms", "40 ms"]}, repetitions=2)
    found = [(run.axes["path.rate"], run.axes["path.rtt"], run.repetition) for run in scenario.runs()]
    rates, rtts = ["10 Mbit/s", "20 Mbit/s"], ["20 ms", "40 ms"]
    assert found == [(rate, rtt, repetition) for rate in rates for rtt in rtts for repetition in (0, 1)]


def test_cases_may_contain_the_whole_path() -> None:
    cases = [
        {"path.rate": "10 Mbit/s", "path.rtt": "20 ms"},
        {"path.profile": "lan", "path.rate": "5 Mbit/s"},
    ]
    with pytest.raises(TussleError, match="same keys"):
        with_cases(cases)
    scenario = with_cases(cases[:1], path={})
    assert len(scenario.runs()) == 1


def test_a_scenario_with_cases_survives_writing_and_reading(tmp_path: Path) -> None:
    scenario = with_cases([{**case, "path.rtt": "20 ms"} for case in TWO], path={})
    file = tmp_path / "cases.toml"
    file.write_text(scenario.to_toml(), "utf-8")
    assert Scenario.load(file) == scenario


def test_a_dataset_of_cases_has_their_values_as_columns(tmp_path: Path) -> None:
    dataset = sweep(with_cases(TWO), tmp_path / "out")
    runs = Dataset.open(dataset.folder).runs.collect()
    assert runs["path.rate"].to_list() == ["10 Mbit/s", "20 Mbit/s"]
    assert runs["link_rate_bit_per_s"].to_list() == [10e6, 20e6]


@pytest.mark.parametrize(
    ("cases", "sentence"),
    [
        (3, "scenario, cases: 3 is not a list of tables; write [[cases]] above each"),
        ([{}], 'scenario, cases.0: an empty case; give it a value, like "path.rate" = "10 Mbit/s"'),
        ([{"path.rate": "0 Mbit/s"}], "scenario, cases.0, path.rate: 0 Mbit/s; give more than 0"),
        (
            [{"path.rate": "1 Mbit/s"}, {"path.rate": "1 Mbit/s", "path.rtt": "1 s"}],
            'scenario, cases.1: sets "path.rtt", which the first case does not; give every case the same '
            "keys",
        ),
        (
            [{"path.rate": "1 Mbit/s", "path.rtt": "1 s"}, {"path.rate": "1 Mbit/s"}],
            'scenario, cases.1: lacks "path.rtt", which the first case sets; give every case the same keys',
        ),
        ([{"seed": 3}], "scenario, cases.0: seed applies to all cases; write it above them"),
        ([{"path.rat": "1 Mbit/s"}], 'scenario, cases.0, path: unknown key "rat"; did you mean "rate"?'),
        (
            [{"path.rate": "1 Mbit/s", "flows.1.algorithm": "bic"}],
            "scenario, cases.0: setting flows.1.algorithm: there is no item 1; the items are 0 to 0",
        ),
    ],
)
def test_a_mistake_in_a_case_names_the_case_and_the_key(cases: object, sentence: str) -> None:
    with pytest.raises(TussleError) as refused:
        with_cases(cases)
    assert sentence in str(refused.value)


def test_cases_cannot_make_more_runs_than_a_sweep_has() -> None:
    with pytest.raises(TussleError, match="cases: more than 100000 runs"):
        with_cases(TWO, repetitions=60_000)
