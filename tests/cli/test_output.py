"""What `--json`, `--quiet` and `--verbose` print, and what the shell completes."""

import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest

import tussle
from commandline import Answer, refused
from tussle.answers.documents import AgreementDocument, ResultsDocument
from tussle.cli import _sweep, agree, list_
from tussle.engines import engine

SCENARIO = """
question = "Who is ahead?"
duration = "3 s"
repetitions = 2

[path]
rate = ["5 Mbit/s", "10 Mbit/s"]
rtt = "20 ms"

[[flows]]
algorithm = "reno"

[[flows]]
algorithm = "vegas"
"""
RUN = ("run", "ahead.toml", "--workers", 1, "-o", "ahead")


@pytest.fixture
def in_folder(tussle_: Callable[..., Answer], tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    """The command, in a folder with a scenario; it leaves out the report, which takes most of the time."""
    (tmp_path / "ahead.toml").write_text(SCENARIO, encoding="utf-8")
    monkeypatch.setattr(_sweep, "write_report", lambda _dataset, page, _workers: page)
    return tussle_


def test_json_has_the_medians_of_the_dataset_and_nothing_else_is_on_standard_output(in_folder):
    answer = in_folder(*RUN, "--json")
    [result] = ResultsDocument.model_validate_json(answer.out).results
    dataset = tussle.open("ahead")
    assert (answer.status, result.digest) == (0, dataset.provenance["digest"])
    assert (result.question, result.answer) == ("Who is ahead?", tussle.summary(dataset).answer)
    assert [(each.point, each.axes, each.runs) for each in result.points] == [
        (0, {"path.rate": "5 Mbit/s"}, 2),
        (1, {"path.rate": "10 Mbit/s"}, 2),
    ]
    assert [(each.point, each.flow, each.algorithm) for each in result.flows] == [
        (0, 0, "reno"),
        (0, 1, "vegas"),
        (1, 0, "reno"),
        (1, 1, "vegas"),
    ]
    goodput = tussle.metric(dataset, "goodput")["goodput_bit_per_s"].to_list()
    assert [each.quantities["goodput_bit_per_s"].median for each in result.flows] == goodput
    assert [(each.first, each.second, each.verdict) for each in result.pairs] == [
        (row["first"], row["second"], row["verdict"])
        for row in tussle.metric(dataset, "coexistence").to_dicts()
    ]
    assert "report: ahead/report.html" in answer.problems
    assert result.notes
    assert all(note in answer.problems for note in result.notes)


def test_a_document_of_several_scenarios_has_a_result_for_each(in_folder, tmp_path: Path):
    (tmp_path / "again.toml").write_text(SCENARIO, encoding="utf-8")
    answer = in_folder("run", "ahead.toml", "again.toml", "--workers", 1, "-o", "both", "--json")
    found = ResultsDocument.model_validate_json(answer.out)
    assert [each.dataset for each in found.results] == ["both/ahead", "both/again"]
    assert found.format == "tussle results 1"


def test_the_matrix_prints_the_document_of_its_dataset(in_folder):
    options = ("--profile", "dsl", "--duration", "5 s", "--stagger", "1 s", "--repetitions", 1)
    answer = in_folder("matrix", "--algorithms", "reno,vegas", *options, "-o", "pairs", "--json")
    [result] = ResultsDocument.model_validate_json(answer.out).results
    assert (answer.status, result.digest) == (0, tussle.open("pairs").provenance["digest"])
    assert len(result.points) == len(result.pairs) == 4


def test_agree_prints_a_document_with_every_bound(in_folder, monkeypatch):
    """The simulator stands for Linux, and therefore agrees."""
    monkeypatch.setattr(agree, "engines_of", lambda name, _choice: {name: engine("sim")})
    answer = in_folder("agree", "--cells", 1, "--algorithms", "reno", "-o", "agree", "--json")
    [agreed] = AgreementDocument.model_validate_json(answer.out).agreements
    assert (answer.status, agreed.simulator, agreed.linux, agreed.settings) == (0, "simulator", "Linux", {})
    assert {each.holds for each in agreed.bounds} == {"yes"}
    assert agreed.cells == agreed.same_cells > 0
    assert (agreed.outside, agreed.is_broken, Path(agreed.page).is_file()) == ([], False, True)
    assert f"pages: {agreed.page}" in answer.problems


def test_notes_are_on_standard_error_and_results_on_standard_output(in_folder):
    answer = in_folder(*RUN)
    assert "vegas" in answer.out
    assert answer.out.endswith("report: ahead/report.html\n")
    assert answer.problems == "".join(f"{note}\n" for note in tussle.summary(tussle.open("ahead")).notes)


def test_quiet_prints_nothing_but_errors(in_folder):
    assert in_folder(*RUN, "--quiet") == (0, "", "")
    assert "exists" in refused(in_folder(*RUN, "-q", "--seed", 2))
    for words in (
        ("export", "ahead", "flows", "-o", "flows.csv"),
        ("plot", "ahead", "fairness", "-o", "fairness.svg"),
        ("scenario", "check", "ahead.toml"),
        ("list", "queues"),
        ("studio", "-o", "studio.html"),
    ):
        assert in_folder(*words).out
        assert in_folder(*words, "-q") == (0, "", "")


def test_verbose_adds_the_runs_the_engine_and_the_digest_to_standard_error(in_folder):
    plain = in_folder(*RUN)
    wordy = in_folder(*RUN, "--verbose")
    assert wordy.out == plain.out
    first, *added, last = wordy.problems.replace(plain.problems, "").splitlines()
    assert first.startswith(f"Tussle {tussle.__version__}, Python ")
    assert re.fullmatch(r"the command took \d+\.\d s", last)
    assert "2 points, each 2 times, seed 1" in added
    assert "engine, name: sim" in added
    assert (
        "1 point, each 1 time, seed 1"
        in in_folder(*RUN[:-1], "once", "--set", "path.rate=5 Mbit/s", "--repetitions", 1, "-v").problems
    )
    assert f"digest of all results: {tussle.open('ahead').provenance['digest']}" in added


@pytest.mark.parametrize(
    ("words", "completed"),
    [
        ("tussle ser", ["serve"]),
        ("tussle matrix --profile l", ["lan", "leo", "lte"]),
        ("tussle matrix --algorithms reno,cu", ["reno,cubic"]),
        ("tussle run --algorithm bb", ["bbr", "bbr3"]),
        ("tussle run what-r", ["what-reverse-traffic-costs"]),
        ("tussle plot results mat", ["matrix"]),
        ("tussle list host", ["host-profiles"]),
        ("tussle suite rfc7", ["rfc7928"]),
        ("tussle paper hs", ["hsdpa", "hsdpa-today"]),
        ("tussle matrix --js", ["--json"]),
    ],
)
def test_the_shell_completes_commands_options_and_names(in_folder, monkeypatch, words: str, completed):
    monkeypatch.setenv("_TUSSLE_COMPLETE", "complete_bash")
    monkeypatch.setenv("COMP_WORDS", words)
    monkeypatch.setenv("COMP_CWORD", str(len(words.split()) - 1))
    assert in_folder().out.split() == completed


def test_a_list_has_the_rate_the_delay_and_the_buffer_of_each_profile(in_folder):
    header, *lines = in_folder("list", "profiles").out.splitlines()
    assert header.split() == ["name", "rate", "rtt", "buffer", "about"]
    [lan] = [line for line in lines if line.startswith("lan ")]
    facts = {each["name"]: each for each in json.loads(in_folder("list", "profiles", "--json").out)}["lan"]
    assert all(facts[key] in lan for key in ("rate", "rtt", "buffer"))


def test_an_empty_list_says_how_to_fill_it(in_folder, monkeypatch):
    monkeypatch.setitem(list_.LISTS, "kernels", lambda: ([], "about"))
    assert in_folder("list", "kernels") == (
        0,
        "",
        "there are no kernels here; `tussle kernel build` builds one\n",
    )
    assert in_folder("list", "kernels", "--json").out == "[]\n"


def test_list_without_a_name_says_which_lists_there_are(in_folder):
    assert "there are algorithms, groups, queues" in refused(in_folder("list"))
