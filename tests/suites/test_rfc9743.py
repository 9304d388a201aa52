"""The suite rfc9743: verdicts on algorithms whose behaviour is known, and what its commands print."""

import json
import re
from pathlib import Path

import pytest

from commandline import refused
from tussle.scenario import Scenario
from tussle.suites import (
    Candidate,
    ChangesDocument,
    CriterionResult,
    Suite,
    SuiteResult,
    Task,
    candidate_of,
    decide,
    read_result,
    tasks,
)
from tussle.sweep import SweepSettings, sweep

DEAF = str(Path(__file__).parent.parent / "support" / "deaf.py") + ":Deaf"
SHORTEST = ("suite", "rfc9743", "--only", "persistent-loss,feedback-lost,sharing-staggered", "--workers", "1")


@pytest.fixture(scope="module")
def folders(tmp_path_factory) -> dict[str, Path]:
    made = tmp_path_factory.mktemp("suites")
    return {name: made / name for name in ("reno", "deaf")}


@pytest.fixture
def results(tussle_, folders) -> dict[str, Path]:
    """The folders, filled whichever test of the module is the first."""
    for name, algorithm in (("reno", "reno"), ("deaf", DEAF)):
        if not (folders[name] / "verdicts.json").exists():
            tussle_(*SHORTEST, "--algorithm", algorithm, "-o", str(folders[name]))
    return folders


def verdicts(result: SuiteResult) -> dict[str, str]:
    return {criterion.name: criterion.verdict for criterion in result.criteria}


def test_reno_passes_what_is_measured_against_itself(tussle_, folders):
    answer = tussle_(*SHORTEST, "--algorithm", "reno", "-o", str(folders["reno"]))
    assert answer.status == 0
    result = read_result(folders["reno"])
    assert result.verdict == "pass"
    assert set(verdicts(result).values()) == {"pass"}
    assert "3 pass" in answer.out


def test_an_algorithm_that_ignores_loss_fails_persistent_congestion(tussle_, folders):
    answer = tussle_(*SHORTEST, "--algorithm", DEAF, "--json", "-o", str(folders["deaf"]))
    assert answer.status == 1
    result = SuiteResult.model_validate(json.loads(answer.out))
    assert result == read_result(folders["deaf"])
    # The retransmission timer, which doubles, is the sender's: it needs no algorithm to back off.
    assert verdicts(result)["persistent-loss"] == "fail"
    assert verdicts(result)["feedback-lost"] == "pass"
    [criterion] = [each for each in result.criteria if each.name == "persistent-loss"]
    assert criterion.threshold.startswith("Tussle's own")
    of_loss = criterion.cases[0]
    assert of_loss.value is not None
    assert of_loss.limit is not None
    # 12 packets a round trip against Reno's 0.9, of which the limit is the double.
    assert of_loss.value.median > 3 * of_loss.limit
    assert set(of_loss.references) == {"reno", "cubic"}
    assert of_loss.distance_high is not None
    assert of_loss.distance_high < 0


def test_the_comparison_of_two_results_names_the_verdicts_that_changed(tussle_, results):
    answer = tussle_("compare", str(results["reno"]), str(results["deaf"]))
    assert answer.status == 1
    assert "persistent-loss" in answer.out
    assert "feedback-lost" not in answer.out


def test_the_changes_of_verdicts_are_printed_as_json(tussle_, results):
    answer = tussle_("compare", str(results["reno"]), str(results["deaf"]), "--json")
    assert answer.status == 1
    found = ChangesDocument.model_validate_json(answer.out)
    assert (found.suite, found.first) == ("rfc9743", "reno")
    changed = {each.name: (each.before, each.after) for each in found.changes}
    assert changed["persistent-loss"] == ("pass", "fail")
    assert "feedback-lost" not in changed
    assert tussle_("compare", str(results["reno"]), str(results["deaf"]), "-q") == (1, "", "")


def test_a_result_compared_with_itself_has_no_changes(tussle_, results):
    answer = tussle_("compare", str(results["reno"]), str(results["reno"]))
    assert answer.status == 0
    assert answer.out == "no verdict changed\n"


def test_a_result_is_not_compared_with_a_dataset(tussle_, results):
    dataset = results["reno"] / "runs" / "blackout" / "cubic"
    message = refused(tussle_("compare", str(results["reno"]), str(dataset)))
    assert "holds no result of a suite" in message


def test_finished_runs_are_kept_and_other_settings_are_refused(tussle_, results):
    again = tussle_(*SHORTEST, "--algorithm", "reno", "-o", str(results["reno"]))
    assert again.status == 0
    assert again.problems == ""
    message = refused(tussle_(*SHORTEST, "--algorithm", "vegas", "-o", str(results["reno"])))
    assert "holds results of other settings" in message


def test_the_page_has_a_line_for_each_criterion_and_needs_no_network(results):
    page = (results["deaf"] / "index.html").read_text("utf-8")
    assert page.count('<details class="row"') == 3
    assert page.index("persistent-loss") < page.index("<svg")
    assert re.search(r'(?:src|href)="https?:', page) is None
    assert "tussle run runs/persistent-loss/candidate/scenario.toml" in page


def test_the_scenario_of_the_evidence_can_be_run(folders):
    file = folders["deaf"] / "runs" / "persistent-loss" / "candidate" / "scenario.toml"
    assert Scenario.load(file).runs()[0].run["flows"][0]["algorithm"].endswith("deaf.py:Deaf")


def decided(name: str, candidate: Candidate, settings: dict, folder: Path) -> CriterionResult:
    """Decide on one criterion on its test, with fewer points."""
    suite = Suite.load("rfc9743").only([name])
    datasets: dict = {}
    for task in tasks(suite, candidate, "quick"):
        tables = {**task.scenario.to_dict()}
        tables["cases"] = tables.get("cases", [])[:1]
        scenario = Scenario.from_dict(tables).with_settings(settings)
        short = Task(task.test, task.contender, scenario)
        made = sweep(scenario, short.folder(folder), SweepSettings(workers=1))
        datasets.setdefault(task.test, {})[task.contender] = made
    [found] = decide(suite, datasets, {}, candidate.algorithm)
    return found


BESIDE_RENO = {"flows.1.algorithm": ["reno"], "path.queue.limit": "2 bdp"}


def test_scalable_fails_harm_to_reno(tmp_path):
    found = decided("harm-reno", Candidate("scalable"), BESIDE_RENO, tmp_path)
    assert found.verdict == "fail"


def test_reno_passes_harm_to_reno(tmp_path):
    found = decided("harm-reno", Candidate("reno"), BESIDE_RENO, tmp_path)
    assert found.verdict == "pass"


def test_two_repetitions_are_too_few_for_a_verdict(tmp_path):
    found = decided("harm-reno", Candidate("scalable"), {**BESIDE_RENO, "repetitions": 2}, tmp_path)
    assert found.verdict == "look"


def test_bbr_fails_loss_in_shallow_buffers_with_several_flows(tmp_path):
    shallow = {"path.queue.limit": "0.1 bdp", "duration": "12 s", "steady.from": "5 s"}
    found = decided("loss", Candidate("bbr"), shallow, tmp_path)
    assert found.verdict == "fail"
    [case] = found.cases
    assert case.value is not None
    assert case.value.median > 10 * case.references["cubic"].median


def test_vegas_starves_beside_cubic(tmp_path):
    settings = {"flows.1.algorithm": ["cubic"], "path.queue.limit": "2 bdp"}
    assert decided("starved-by-others", Candidate("vegas"), settings, tmp_path).verdict == "fail"


SHORT = {"duration": "20 s", "steady.from": "8 s"}


def test_bbr_which_ignores_marks_fails_the_reaction_to_marks(tmp_path):
    found = decided("ecn-codepoints", Candidate("bbr"), SHORT, tmp_path)
    assert found.verdict == "fail"
    [case] = found.cases
    assert case.value is not None
    # The path holds 67 packets, and BBR keeps it full; Reno has 1.22 / sqrt(0.1) = 3.9 packets.
    assert case.value.median > 60
    assert case.references["reno"].median < 6


def test_a_receiver_that_hides_marks_gains_with_reno(tmp_path):
    settings = {**SHORT, "flows.1.algorithm": ["reno"], "record.samples": "1 s"}
    found = decided("hidden-marks", Candidate("reno"), settings, tmp_path)
    assert found.verdict == "fail"


def test_short_flows_of_the_algorithm_are_tested_beside_a_long_one_of_its_own():
    planned = tasks(Suite.load("rfc9743").only(["short-own"]), Candidate("vegas"), "quick")
    [own] = [task.scenario for task in planned if task.contender == "candidate"]
    assert [flow["algorithm"] for flow in own.runs()[0].run["flows"][:2]] == ["vegas", "vegas"]


def test_a_strength_is_printed_in_the_documents_own_word():
    strengths = {each.name: each.strength for each in Suite.load("rfc9743").criteria}
    # RFC 9743, 5.1.1 "should", 5.3.1 and 5.3.2 "MUST", 7.5 "ought not to presume"; 7.4 has no such word.
    names = ("persistent-loss", "deviations", "incremental", "high-delay", "sub-packet")
    assert [strengths[name] for name in names] == ["should", "MUST", "MUST", "ought", "-"]


def test_parameters_of_an_algorithm_are_those_of_the_candidate_only():
    planned = tasks(Suite.load("rfc9743"), candidate_of("cubic", {"hystart": 0}), "quick")
    flows = {
        task.contender: task.scenario.runs()[0].run["flows"][0]["parameters"]
        for task in planned
        if task.test == "constant"
    }
    assert flows["candidate"] == {"hystart": 0}
    assert flows["cubic"] == {}


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("rfc9734", "--algorithm", "reno"), 'unknown suite "rfc9734"; did you mean "rfc9743"?'),
        (
            ("rfc9743", "--algorithm", "cubik"),
            '--algorithm: unknown algorithm "cubik"; did you mean "cubic"?',
        ),
        (("rfc9743", "--algorithm", "linux13"), "linux13 is a group"),
        (("rfc9743", "--algorithm", "udp"), "udp has no congestion control"),
        (("rfc9743", "--algorithm", "reno", "--queue", "codel"), "brings its own queues"),
        (("rfc9743", "--algorithm", "reno", "--only", "harm-renno"), 'did you mean "harm-reno"?'),
        (("rfc9743", "--algorithm", "reno", "--only", ","), "--only names no criterion"),
        (("rfc9743", "--algorithm", "cubic", "--parameter", "beta=x"), "give a whole number"),
        (("rfc9743", "--algorithm", "cubic", "--parameter", "gain=1"), "gain"),
        (("rfc9743", "--algorithm", "missing.py:Mine"), "there is no such file"),
    ],
)
def test_bad_input_is_refused_in_one_sentence(tussle_, tmp_path, arguments, sentence):
    message = refused(tussle_("suite", *arguments, "-o", str(tmp_path / "results")))
    assert sentence in message
    assert not (tmp_path / "results").exists()
