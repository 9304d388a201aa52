"""`tussle compare`, as a user and as a gate call it."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commandline import refused
from fake_engine import GoodputEngine, base, five_percent_more, noise
from tussle.answers.documents import ComparisonDocument
from tussle.dataset import Dataset
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep


def dataset(folder: Path, goodput: Callable[[int], float], **settings: Any) -> Dataset:
    engine = GoodputEngine(goodput=goodput, version=settings.pop("version", "1"))
    written = {
        "duration": "10 s",
        "repetitions": 8,
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms"},
        "flows": [{"algorithm": "reno"}],
    }
    scenario = Scenario.from_dict(written).with_settings(settings)
    return sweep(scenario, folder, SweepSettings(workers=1, engine=engine))


def test_equal_datasets_do_not_differ(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", base)
    answer = tussle_("compare", "a", "b")
    assert (answer.status, answer.problems) == (0, "")
    assert "within threshold" in answer.out


def test_pairs_of_one_seed_show_a_change_smaller_than_the_variation_of_runs(tussle_, tmp_path: Path):
    """Runs differ by up to 40 % and the change is 5 %; pairs of runs with one seed show it."""
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", five_percent_more)
    answer = tussle_("compare", "a", "b")
    assert answer.status == 1
    (row,) = [line for line in answer.out.splitlines() if "goodput, Mbit/s" in line]
    assert "8 pairs" in row
    assert row.endswith("real")


def test_without_common_seeds_the_same_change_is_not_significant(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", five_percent_more, seed=2)
    answer = tussle_("compare", "a", "b")
    assert answer.status == 0
    assert "8 each" in answer.out
    assert "not shown" in answer.out
    assert answer.problems == "not the same: seed: 1 / 2\n"


@pytest.mark.parametrize(("threshold", "status"), [("goodput=4%", 1), ("goodput=6 %", 0), ("goodput=4e6", 0)])
def test_differences_within_the_threshold_do_not_count(tussle_, tmp_path: Path, threshold: str, status: int):
    """5 % of about 60 Mbit/s are about 3 Mbit/s."""
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", five_percent_more)
    assert tussle_("compare", "a", "b", "--threshold", threshold).status == status


def test_a_gate_with_too_few_runs_is_refused_instead_of_passed(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base, repetitions=5)
    dataset(tmp_path / "b", five_percent_more, repetitions=5)
    answer = tussle_("compare", "a", "b")
    assert answer.status == 2
    assert "not shown" in answer.out
    assert answer.problems.startswith(
        "tussle: 1 of these differences is undecided, because 5 runs of a point are too few; "
        "run both again with --repetitions 6 or more"
    )


def test_few_runs_without_a_difference_pass(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base, repetitions=1)
    dataset(tmp_path / "b", base, repetitions=1)
    assert tussle_("compare", "a", "b").status == 0


def test_common_points_are_compared_and_the_others_are_listed(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base, **{"path.rtt": ["20 ms", "40 ms"]})
    dataset(tmp_path / "b", base, **{"path.rtt": ["40 ms", "80 ms"]})
    answer = tussle_("compare", "a", "b")
    assert answer.status == 0
    assert [line.split("  ")[1].strip() for line in answer.out.splitlines() if "Mbit/s" in line] == [
        "path.rtt = 40 ms"
    ]
    assert answer.problems.splitlines()[1:] == [
        "not in both: only a has path.rtt = 20 ms",
        "not in both: only b has path.rtt = 80 ms",
    ]


def test_datasets_without_a_common_point_are_refused(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base, **{"path.rtt": ["20 ms", "40 ms"]})
    dataset(tmp_path / "b", base)
    assert refused(tussle_("compare", "a", "b")) == (
        "a and b have no point in common: the first has path.rtt = 20 ms; path.rtt = 40 ms, the second "
        "the only point; "
        "compare datasets whose axes have the same values"
    )


def test_differing_engines_versions_and_settings_are_reported(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", base, version="2", **{"path.queue.limit": "2 bdp"})
    assert tussle_("compare", "a", "b").problems.splitlines() == [
        "not the same: engine version: 1 / 2",
        "not the same: path.queue.limit: none / 2 bdp",
    ]


def test_all_rows_can_be_written_to_a_file(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", five_percent_more)
    command = ("compare", "a", "b", "--metric", "rtt", "--metric", "goodput")
    assert tussle_(*command, "--csv", "x.csv").status == 1
    [row] = pl.read_csv(tmp_path / "x.csv").to_dicts()
    assert (row["metric"], row["column"], row["flow"], row["verdict"]) == (
        "goodput",
        "goodput_bit_per_s",
        "flow-0",
        "real",
    )
    assert row["difference"] == pytest.approx(0.05 * row["first"], rel=0.1)
    printed = tussle_(*command, "--json")
    [found] = ComparisonDocument.model_validate_json(printed.out).comparisons
    assert (printed.status, found.a, found.b) == (1, "a", "b")
    [difference] = found.differences
    assert difference.model_dump().items() <= row.items()


def test_metrics_of_runs_and_the_given_ones_with_thresholds_are_compared(tussle_, tmp_path: Path):
    for name in "ab":
        dataset(tmp_path / name, base)
    answer = tussle_("compare", "a", "b", "--metric", "jain", "--threshold", "total=1%")
    assert [word for word in answer.out.split() if word in ("jain_index", "total_goodput,", "goodput,")] == [
        "jain_index",
        "total_goodput,",
    ]


def test_values_present_in_only_one_dataset_are_reported(tussle_, tmp_path: Path):
    """Flows that converge in one dataset only have no difference, and are reported."""
    dataset(tmp_path / "a", lambda seed: base(seed) if noise(seed) < 0.5 else 0.0)
    dataset(tmp_path / "b", lambda _seed: 0.0)
    answer = tussle_("compare", "a", "b", "--metric", "total", "--metric", "jain", "--metric", "rtt")
    assert "not compared: values of jain_index (jain) that only a has, 1 of them\n" in answer.problems
    assert "not compared: neither dataset has values of rtt_p50_ms (rtt)\n" in answer.problems


def test_flows_are_compared_with_the_flow_of_the_same_place(tussle_, tmp_path: Path):
    flows = [{"algorithm": "reno", "name": "mine"}, {"algorithm": "cubic"}]
    for name in "ab":
        dataset(
            tmp_path / name,
            base,
            flows=flows if name == "a" else [*flows[:1], {"algorithm": "bic", "name": "b"}],
        )
    lines = [line.split() for line in tussle_("compare", "a", "b").out.splitlines() if "Mbit/s" in line]
    assert [line[3:6] for line in lines] == [["mine", "goodput,", "Mbit/s"], ["flow-1", "/", "b"]]


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["--metric", "goodputt"], 'unknown metric "goodputt"; did you mean "goodput"?'),
        (
            ["--metric", "goodput_over_time"],
            "goodput_over_time cannot be compared: it has one value for each run, flow, time_s; ",
        ),
        (["--metric", "coexistence"], "coexistence cannot be compared: it has one value for each point; "),
        (["--metric", "harm"], "a: harm needs baseline runs"),
        (["--metric", "rtt"], "a and b have no common value of rtt to compare"),
        (
            ["--threshold", "goodput"],
            '--threshold "goodput": write METRIC=AMOUNT, like goodput=2% or jain=0.01',
        ),
        (["--threshold", "goodput=-1%"], '--threshold "goodput=-1%": write METRIC=AMOUNT'),
        (["--threshold", "goodput=much"], '--threshold "goodput=much": write METRIC=AMOUNT'),
        (["--csv", "nowhere/x.csv"], "cannot write nowhere/x.csv: there is no folder nowhere; "),
    ],
)
def test_arguments_that_compare_cannot_use_are_refused(
    tussle_, tmp_path: Path, arguments: list[str], sentence: str
):
    for name in "ab":
        dataset(tmp_path / name, base)
    assert refused(tussle_("compare", "a", "b", *arguments)).startswith(sentence)


def test_a_dataset_that_is_missing_or_damaged_is_refused(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", base)
    dataset(tmp_path / "b", base)
    assert refused(tussle_("compare", "a", "nowhere")).startswith("nowhere does not exist")
    table = tmp_path / "b" / "flows.parquet"
    whole = table.read_bytes()
    table.write_bytes(whole[:1000])
    assert refused(tussle_("compare", "a", "b")).startswith("b/flows.parquet was changed")
    table.write_bytes(whole.replace(b"reno", b"bbrr"))
    assert refused(tussle_("compare", "a", "b")).startswith("b/flows.parquet was changed")
