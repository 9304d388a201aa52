"""The files of all suites: each of their names exists, and each scenario resolves in both sizes."""

import json

import pytest

from tussle.suites import SIZES, Candidate, Suite, suites, tasks

LOADED = [Suite.load(name) for name in suites()]


@pytest.mark.parametrize("suite", LOADED, ids=lambda suite: suite.name)
@pytest.mark.parametrize("size", SIZES)
def test_every_scenario_resolves_and_has_enough_repetitions(suite: Suite, size):
    for task in tasks(suite, Candidate("reno"), size):
        assert task.scenario.repetitions is None or task.scenario.repetitions >= 6, task.test
        point = task.scenario.points()[0]
        assert point.resolve(1)["flows"]


@pytest.mark.parametrize("suite", LOADED, ids=lambda suite: suite.name)
def test_every_test_answers_a_criterion(suite: Suite):
    claims = [claim for criterion in suite.criteria for claim in criterion.claims]
    assert {each for claim in claims for each in (claim.test, claim.against) if each} == set(suite.tests)


@pytest.mark.parametrize("suite", LOADED, ids=lambda suite: suite.name)
def test_the_axes_that_claims_name_exist(suite: Suite):
    for criterion in suite.criteria:
        for claim in criterion.claims:
            scenario = suite.scenario(claim.test)
            axes = {*scenario.axes(), *(key for case in scenario.cases for key in case)}
            named = {*claim.where, *([claim.victim] if claim.victim else [])}
            assert named <= axes, criterion.name


@pytest.mark.parametrize("suite", LOADED, ids=lambda suite: suite.name)
def test_the_candidate_is_where_flows_are_called_candidate(suite: Suite):
    for name, test in suite.tests.items():
        flows = suite.scenario(name).flows
        called = {
            f"flows.{index}.algorithm" for index, flow in enumerate(flows) if "candidate" in str(flow.name)
        }
        assert called == set(test.candidate), name


def test_the_list_has_a_line_for_each_suite(tussle_):
    answer = tussle_("list", "suites", "--json")
    assert [entry["name"] for entry in json.loads(answer.out)] == suites()
