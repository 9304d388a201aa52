"""The page of a study whose results are kept beside it (docs/decisions/0021-results-that-take-days.md)."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

import tussle
from tussle.papers import About, Setting, Study, content, planned, results_in, write_markdown

PAGES = Path(__file__).parents[2] / "docs" / "papers"


def test_the_page_of_the_testbed_says_what_its_kept_results_say():
    """The words and numbers of the page, and every cell of its CSV, made anew."""
    study = Study.load("linux-variants")
    page = (PAGES / f"{study.name}.md").read_text("utf-8")
    [date] = re.findall(r"were made on (\S+) with", page)
    about = About(f"tussle paper {study.name}", date, tussle.__version__)
    files = write_markdown(content(study, results_in(study, PAGES / study.name / "results"), about))
    assert files[f"{study.name}.md"] == page
    cells = (PAGES / study.name / "comparison.csv").read_text("utf-8")
    assert files[f"{study.name}/comparison.csv"] == cells


@pytest.mark.parametrize(
    "kept",
    sorted(PAGES.glob("buffer-provisioning/results/*/*")),
    ids=lambda each: f"{each.parent.name}-{each.name}",
)
def test_a_kept_part_of_the_buffers_is_complete_and_whole(kept: Path):
    """`tussle paper` takes it for what it would run, so that a run continues with the other parts."""
    setting = Setting(study_hosts=kept.parent.name.endswith("-study-hosts"))
    assert tussle.open(kept).scenario == planned(Study.load("buffer-provisioning"), kept.name, setting)


@pytest.mark.parametrize("kept", sorted(PAGES.glob("*/results/*/*")), ids=lambda each: each.name)
def test_kept_results_name_the_command_that_repeats_them_from_the_projects_folder(kept: Path):
    place = kept.relative_to(PAGES.parents[1]).as_posix()
    command = tussle.open(kept).provenance["command"]
    assert command.startswith(f"tussle run {place}/scenario.toml ")
    assert command.endswith(f" -o {place}-again")
