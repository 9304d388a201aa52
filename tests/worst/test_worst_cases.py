"""The page of worst cases: it is complete, and its numbers are those of its scenarios."""

import re
import statistics
import sys
import tomllib
from pathlib import Path

import pytest

from tussle.catalog import groups
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep
from tussle.worst import load_space, objective

ROOT = Path(__file__).parent.parent.parent
SCENARIOS = ROOT / "docs" / "worst-cases"
PAGE = (ROOT / "docs" / "explanation" / "worst-cases.md").read_text("utf-8")
KNOWN = tomllib.loads((ROOT / "tools" / "worst_cases.toml").read_text("utf-8"))
sys.path.insert(0, str(ROOT / "tools"))

from worst_cases import searches  # noqa: E402


def row_of(name: str) -> str:
    """Return the line of the page that links to the scenario of an algorithm."""
    return next(line for line in PAGE.splitlines() if f"](../worst-cases/{name}.toml)" in line)


def test_the_page_has_two_cases_of_each_of_linuxs_seventeen_algorithms():
    names = groups()["linux"].algorithms
    assert len(names) == 17
    for goal in ("harm", "starvation"):
        for name in names:
            assert row_of(f"{name}-{goal}").startswith(f"| [{name}](")


def test_the_page_has_a_result_for_every_claim():
    for claim in KNOWN["known"]:
        _, _, section = PAGE.partition(f"### {claim['claim']}\n")
        section, _, _ = section.partition("\n### ")
        assert re.search(r"^\*\*(Found|Not found: .+)\.\*\*", section, re.MULTILINE), claim["name"]
        assert f"](../worst-cases/{claim['name']}.toml)" in section
        assert f"](../worst-cases/space-{claim['space']}.toml)" in section


def test_the_folder_has_the_scenarios_and_spaces_of_the_page_and_nothing_else():
    expected = {each["name"] for each in searches()} | {f"space-{name}" for name in KNOWN["space"]}
    assert {file.stem for file in SCENARIOS.iterdir()} == expected
    for each in searches():
        scenario = Scenario.load(SCENARIOS / f"{each['name']}.toml")
        assert scenario.repetitions == 10
        assert scenario.flows[0].algorithm == each["algorithm"]


@pytest.mark.parametrize("name", KNOWN["space"])
def test_the_spaces_of_the_page_are_those_that_were_searched(name, tmp_path):
    (tmp_path / "space.toml").write_text((SCENARIOS / f"space-{name}.toml").read_text("utf-8"), "utf-8")
    space = load_space(tmp_path / "space.toml", 2)
    text = tomllib.loads((SCENARIOS / f"space-{name}.toml").read_text("utf-8"))
    assert text == KNOWN["space"][name]
    assert {each.key for each in space.dimensions} & {"path.rate", "path.queue.limit"}


@pytest.mark.parametrize("name", ["hystart-jitter", "bbr-shallow", "dctcp-starvation"])
def test_a_case_of_the_page_has_its_value_when_it_is_run_again(name, tmp_path):
    search = next(each for each in searches() if each["name"] == name)
    dataset = sweep(Scenario.load(SCENARIOS / f"{name}.toml"), tmp_path / "case", SweepSettings(workers=1))
    values = objective(search["objective"]).compute(dataset)["value"]
    found = f"{statistics.median(values):.2f}"
    if "claim" in search:
        _, _, section = PAGE.partition(f"### {search['claim']}\n")
        assert re.search(r"interval: ([\d.]+) ", section)[1] == found  # pyright: ignore[reportOptionalSubscript]
    else:
        assert row_of(name).split(" | ")[1].split()[0] == found
