"""The pages in docs/suites: they are of the suite's files of today, and have every algorithm."""

from pathlib import Path

import pytest

from tussle.catalog import catalog
from tussle.suites import Suite

PAGES = sorted((Path(__file__).parent.parent.parent / "docs" / "suites").glob("*.md"))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_is_of_todays_files_of_the_suite(page: Path):
    digest = Suite.load(page.stem).digest()
    assert digest in page.read_text("utf-8"), "run `make suites`: the files of the suite changed"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_has_every_algorithm_and_every_tested_criterion(page: Path):
    lines = page.read_text("utf-8").splitlines()
    [header] = [line for line in lines if line.startswith("| criterion")]
    assert set(catalog().algorithms) <= {cell.strip() for cell in header.split("|")}
    tested = [criterion.name for criterion in Suite.load(page.stem).criteria if criterion.claims]
    rows = [line.split("|")[1].strip() for line in lines if line.startswith("| ")]
    assert rows[1:][: len(tested)] != []
    assert [row for row in rows if row in tested] == tested


def test_the_published_verdicts_contain_the_known_answers():
    text = next(page for page in PAGES if page.stem == "rfc9743").read_text("utf-8")
    lines = [line for line in text.splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    names = table[0]
    marks = {(row[0], names[at]): row[at] for row in table[2:] for at in range(3, len(names))}
    of_own_kind = [("harm-reno", "reno"), ("harm-cubic", "cubic"), ("loss", "cubic")]
    assert [marks[each] for each in of_own_kind] == ["✓"] * 3
    known = [("loss", "bbr"), ("harm-reno", "scalable"), ("starved-by-others", "vegas")]
    assert [marks[each] for each in known] == ["✗"] * 3
