"""The suite bbr-draft: what a model of the path does to queues, and what the lack of one does."""

from pathlib import Path

import pytest

from tussle.suites import Suite, SuiteResult, read_result

DEAF = str(Path(__file__).parent.parent / "support" / "deaf.py") + ":Deaf"
SHORTEST = "drain-inflight,probe-rtt,loss-in-probe-up,limited"


@pytest.fixture
def tested(tussle_, tmp_path: Path):
    def run(algorithm: str, only: str = SHORTEST) -> dict[str, str]:
        given = ("--algorithm", algorithm, "--only", only, "--workers", "1")
        folder = tmp_path / "out"
        answer = tussle_("suite", "bbr-draft", *given, "-o", str(folder))
        result: SuiteResult = read_result(folder)
        found = {criterion.name: criterion.verdict for criterion in result.criteria}
        assert answer.status == ("fail" in found.values())
        return found

    return run


def test_the_suite_has_the_22_cases_of_the_draft_in_order():
    sections = [criterion.section for criterion in Suite.load("bbr-draft").criteria]
    assert sections == [f"case {number}" for number in range(1, 23)]


def test_bbr_passes_its_own_cases(tested):
    assert set(tested("bbr").values()) == {"pass"}


def test_reno_fails_those_on_queues_which_need_a_model_of_the_path(tested):
    assert tested("reno") == {
        "drain-inflight": "fail",
        "probe-rtt": "fail",
        "loss-in-probe-up": "pass",
        "limited": "pass",
    }


def test_an_algorithm_that_ignores_loss_loses_more_than_bbr_at_a_shallow_buffer(tested):
    found = tested(DEAF, "loss-in-probe-up,limited")
    assert found == {"loss-in-probe-up": "fail", "limited": "pass"}
