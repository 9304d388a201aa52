"""`tussle compare` along an axis of one dataset, and the section of a report on kernels."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commandline import refused
from fake_engine import GoodputEngine, base, five_percent_more, noise
from tussle.answers import note_on_kernels
from tussle.answers.documents import ComparisonDocument
from tussle.compare import Question, along
from tussle.dataset import Dataset
from tussle.engines import Engine, Variants
from tussle.report import write
from tussle.report._kernels import changes
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

Goodput = Callable[[int], float]


def dataset(folder: Path, engine: Engine, **settings: Any) -> Dataset:
    written = {
        "duration": "10 s",
        "repetitions": 8,
        "path": {"rate": "100 Mbit/s", "rtt": "20 ms"},
        "flows": [{"algorithm": "reno"}],
    }
    scenario = Scenario.from_dict(written).with_settings(settings)
    return sweep(scenario, folder, SweepSettings(workers=1, engine=engine))


def kernels(**goodputs: Goodput) -> Variants:
    return Variants("kernel", {name: GoodputEngine(goodput=goodput) for name, goodput in goodputs.items()})


def one_megabit_up_or_down(seed: int) -> float:
    """Half of the eight seeds increase goodput, the other half decrease it; the median does not change."""
    return base(seed) + (1e6 if noise(seed) < MIDDLE else -1e6)


SEEDS = [
    planned.seed
    for planned in Scenario.from_dict(
        {
            "duration": "10 s",
            "repetitions": 8,
            "path": {"rate": "1 Mbit/s", "rtt": "20 ms"},
            "flows": [{"algorithm": "reno"}],
        }
    ).runs()
]
MIDDLE = sorted(map(noise, SEEDS))[4]


def test_each_further_kernel_is_compared_with_the_first_in_pairs_of_one_seed(tmp_path: Path):
    """Runs vary by 40 %. For equal seeds, the second kernel has 5 % more and the third the same goodput."""
    data = dataset(tmp_path / "a", kernels(old=base, new=five_percent_more, newest=base))
    found = along(data, "kernel", Question())
    assert (found.first, list(found.others)) == ("old", ["new", "newest"])
    rows = found.rows.select("axis", "first_value", "second_value", "point", "paired", "runs", "verdict")
    assert rows.rows() == [
        ("kernel", "old", "new", "the only point", True, 8, "real"),
        ("kernel", "old", "newest", "the only point", True, 8, "within threshold"),
    ]
    # The median of 5 % of each run's goodput is 5 % of its median, and the ends are 5 % of some runs.
    new = found.others["new"].rows.row(0, named=True)
    assert new["difference"] == pytest.approx(0.05 * new["first"])
    assert 0.05 * 50e6 < new["low"] <= new["difference"] <= new["high"] < 0.05 * 70e6


def test_a_change_with_alternating_sign_is_not_significant(tmp_path: Path):
    """Four of eight differences are +1 Mbit/s and four -1: their median is 0, inside every interval."""
    data = dataset(tmp_path / "a", kernels(old=base, new=one_megabit_up_or_down))
    [row] = along(data, "kernel", Question()).rows.rows(named=True)
    assert (row["difference"], row["verdict"]) == (0.0, "within threshold")
    assert (row["low"], row["high"]) == (-1e6, 1e6)
    [change] = changes(data)
    assert change.answer == "Of 1 result, none changed beyond noise; 1 differ by no more than noise."


def test_points_are_matched_over_the_other_axes(tmp_path: Path):
    data = dataset(tmp_path / "a", kernels(old=base, new=base), **{"path.rtt": ["20 ms", "40 ms"]})
    rows = along(data, "kernel", Question(("goodput", "jain"))).rows
    assert rows.select("point", "metric").rows() == [
        ("path.rtt = 20 ms", "goodput"),
        ("path.rtt = 40 ms", "goodput"),
        ("path.rtt = 20 ms", "jain"),
        ("path.rtt = 40 ms", "jain"),
    ]


def test_any_axis_can_be_compared_along(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", GoodputEngine(goodput=base), **{"path.rtt": ["20 ms", "40 ms"]})
    answer = tussle_("compare", "a", "--along", "path.rtt")
    assert (answer.status, answer.problems) == (0, "")
    assert "path.rtt: A is 20 ms, B is 40 ms" in answer.out


def test_the_command_compares_kernels_by_default_and_sets_the_exit_status(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", kernels(old=base, new=five_percent_more, newest=base))
    answer = tussle_("compare", "a", "--csv", "x.csv")
    assert answer.status == 1
    titles = [line for line in answer.out.splitlines() if line.startswith("kernel: ")]
    assert titles == ["kernel: A is old, B is new", "kernel: A is old, B is newest"]
    rows = pl.read_csv(tmp_path / "x.csv").select("second_value", "verdict").rows()
    assert rows == [("new", "real"), ("newest", "within threshold")]
    printed = tussle_("compare", "a", "--json")
    found = ComparisonDocument.model_validate_json(printed.out)
    assert (printed.status, found.axis) == (1, "kernel")
    assert [(each.a, each.b, each.has_real_difference) for each in found.comparisons] == [
        ("old", "new", True),
        ("old", "newest", False),
    ]
    assert [each.verdict for each in found.comparisons[0].differences] == ["real"]
    assert tussle_("compare", "a", "--threshold", "goodput=6%").status == 0


def test_too_few_runs_of_one_dataset_are_refused(tussle_, tmp_path: Path):
    dataset(tmp_path / "a", kernels(old=base, new=five_percent_more), repetitions=5)
    answer = tussle_("compare", "a")
    assert answer.status == 2
    assert "5 runs of a point are too few; run it again with --repetitions 6 or more" in answer.problems


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("a",),
            "a has one kernel; give a second dataset to compare it with, or --along with one of its axes: "
            "path.rtt",
        ),
        (("b",), "b has one kernel; give a second dataset to compare it with"),
        (("a", "--along", "path.rt"), 'a: unknown axis "path.rt"; did you mean "path.rtt"?'),
        (("b", "--along", "path.rtt"), "b: there is no axis path.rtt: the dataset has no axes"),
        (
            ("c", "--along", "path.rtt"),
            "c: path.rtt = 20 ms is the only value of that axis; a comparison needs two",
        ),
        (
            ("a", "b", "--along", "path.rtt"),
            "--along compares the values of an axis of one dataset; leave out B, or the option",
        ),
        (("a", "--along", "path.rtt", "--metric", "harm"), "a: path.rtt = 20 ms: harm needs baseline runs"),
    ],
)
def test_datasets_and_axes_that_cannot_be_compared_are_refused(
    tussle_, tmp_path: Path, arguments, sentence: str
):
    dataset(tmp_path / "a", GoodputEngine(goodput=base), **{"path.rtt": ["20 ms", "40 ms"]})
    dataset(tmp_path / "b", GoodputEngine(goodput=base))
    dataset(tmp_path / "c", GoodputEngine(goodput=base), **{"path.rtt": ["20 ms"]})
    assert refused(tussle_("compare", *arguments)).startswith(sentence)


def test_a_report_lists_changed_and_unchanged_metrics_between_kernels(tmp_path: Path):
    data = dataset(tmp_path / "a", kernels(old=base, new=five_percent_more, newest=base))
    first, second = changes(data)
    assert (first.title, first.answer) == ("From old to new", "Of 1 result, 1 changed beyond noise.")
    assert (second.title, second.answer) == ("From old to newest", "The only result is the same.")
    assert [cell.text for cell in first.table.rows[0][:4]] == [
        "changed",
        "the only point",
        "flow-0",
        "goodput, Mbit/s",
    ]
    assert first.table.rows[0][7].text == "+5.0"
    page = write(data, tmp_path / "report.html").read_text("utf-8")
    assert "Differences between the kernels" in page
    assert "<strong>From old to new:</strong> Of 1 result, 1 changed beyond noise." in page
    assert "`tussle compare" in note_on_kernels(data)


def test_a_report_gives_no_verdict_on_too_few_runs(tmp_path: Path):
    data = dataset(tmp_path / "a", kernels(old=base, new=five_percent_more), repetitions=1)
    [change] = changes(data)
    assert change.answer == (
        "Of 1 result, 1 differ and none are the same. Whether the differences are more than noise is "
        "undecided: that needs 6 repetitions or more, and there is 1."
    )
    assert change.table.rows[0][0].text == "too few runs"


def test_a_report_of_pairs_compares_jain_indices_too(tmp_path: Path):
    flows = [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}]
    data = dataset(tmp_path / "a", kernels(old=base, new=base), flows=flows)
    [change] = changes(data)
    # Two pairs, of two goodputs and one index each.
    assert change.answer == "All 6 results are the same."
    assert [row[1].text for row in change.table.rows[::2]] == ["reno", "cubic", "reno"]
    assert "In each of 2 kernels, " in write(data, tmp_path / "report.html").read_text("utf-8")


def test_a_report_of_one_kernel_has_no_comparison(tmp_path: Path):
    data = dataset(tmp_path / "a", GoodputEngine(goodput=base))
    assert changes(data) == []
    assert "between the kernels" not in write(data, tmp_path / "report.html").read_text("utf-8")
    assert note_on_kernels(data) == ""
