"""The pages in docs/suites: they are of the suite's files of today, and name every algorithm."""

import re
import sys
from pathlib import Path

import pytest

import tussle
from tussle.catalog import catalog, groups
from tussle.suites import Suite

ROOT = Path(__file__).parent.parent.parent
PAGES = sorted((ROOT / "docs" / "suites").glob("*.md"))
"""A page for each suite with published results, `SUITE.md` of the simulator and `SUITE-linux.md` of Linux."""

sys.path.insert(0, str(ROOT / "tools"))
from suite_pages import ENGINES, NOT_MEASURED, columns_of_page, lines  # noqa: E402

ON_LINUX = ENGINES["kernel"].suffix
OF_ENGINES = [("rfc9743", "sim"), (f"rfc9743{ON_LINUX}", "kernel")]


def suite_of(page: Path) -> Suite:
    return Suite.load(page.stem.removesuffix(ON_LINUX))


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_table_is_of_todays_files_of_the_suite(page: Path):
    digest = suite_of(page).digest()
    assert digest in page.read_text("utf-8"), "run `make suites`: the files of the suite changed"


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_page_names_every_algorithm_and_every_tested_criterion(page: Path):
    written = page.read_text("utf-8").splitlines()
    [header] = [line for line in written if line.startswith("| criterion")]
    missing = [line for line in written if line.startswith(NOT_MEASURED)]
    named = {*re.split(r"[| ]+", header), *re.split(r"[,. ]+", "".join(missing))}
    able = groups()["linux"].algorithms if page.stem.endswith(ON_LINUX) else catalog().algorithms
    assert set(able) <= named, "run `make docs`: the page does not say what is not measured"
    tested = [criterion.name for criterion in suite_of(page).criteria if criterion.claims]
    rows = [line.split("|")[1].strip() for line in written if line.startswith("| ")]
    assert rows[1:][: len(tested)] != []
    assert [row for row in rows if row in tested] == tested


@pytest.mark.parametrize("page", PAGES, ids=lambda page: page.stem)
def test_the_published_verdicts_contain_the_known_answers(page: Path):
    lines = [line for line in page.read_text("utf-8").splitlines() if line.startswith("|")]
    table = [[cell.strip() for cell in line.split("|")[1:-1]] for line in lines]
    names = table[0]
    marks = {(row[0], names[at]): row[at] for row in table[2:] for at in range(3, len(names))}
    of_own_kind = [("harm-reno", "reno"), ("harm-cubic", "cubic"), ("loss", "cubic")]
    assert [marks[each] for each in of_own_kind] == ["✓"] * 3
    known = [
        ("loss", "bbr"),
        ("harm-cubic", "bbr"),
        ("harm-reno", "scalable"),
        ("harm-reno", "bic"),
        ("starved-by-others", "vegas"),
        ("ecn-codepoints", "bbr"),
        ("hidden-marks", "reno"),
        ("hidden-marks", "cubic"),
    ]
    assert [(each, marks[each]) for each in known] == [(each, "✗") for each in known]


@pytest.mark.parametrize(("name", "engine"), OF_ENGINES)
def test_a_page_without_results_keeps_its_columns_and_names_what_is_not_measured(name: str, engine: str):
    suite, page = Suite.load("rfc9743"), next(page for page in PAGES if page.stem == name)
    kept = columns_of_page(suite, page)
    able = groups()["linux"].algorithms if engine == "kernel" else catalog().algorithms
    columns, missing = list(kept.values()), [each for each in able if each not in kept]
    assert list(lines(suite, columns, missing, engine)) == page.read_text("utf-8").splitlines()
    assert f"{NOT_MEASURED}mine." in list(lines(suite, columns, ["mine"], engine))


def test_columns_of_other_files_of_the_suite_or_another_version_are_not_kept(tmp_path):
    suite, page = Suite.load("rfc9743"), next(page for page in PAGES if page.stem == "rfc9743")
    for same in (suite.digest(), f"Tussle {tussle.__version__}"):
        changed = tmp_path / "page.md"
        changed.write_text(page.read_text("utf-8").replace(same, "other"), "utf-8")
        assert columns_of_page(suite, changed) == {}
