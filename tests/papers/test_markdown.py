"""The Markdown page of a study, after a small run, and the pages in the repository."""

import re
import subprocess
import sys
from pathlib import Path

import polars as pl
import pytest

from shared import shared_folder
from tussle.papers import About, Study, content, results_in, save, studies, write_markdown

PAGES = Path(__file__).parents[2] / "docs" / "papers"
MOST_BYTES = 500_000
TUSSLE = Path(sys.executable).parent / "tussle"
ABOUT = About("tussle paper lan-pairs", "2026-11-20", "0.1.0")


@pytest.fixture(scope="module")
def files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The files of a page over four pairs on a LAN and three receive windows."""

    def run(folder: Path) -> None:
        chosen = ("--part", "matrix,window", "--quick", "--algorithms", "vegas,reno")
        subprocess.run([TUSSLE, "paper", "lan-pairs", *chosen, "-o", folder], check=True, capture_output=True)

    study = Study.load("lan-pairs")
    results = results_in(study, shared_folder(tmp_path_factory, "lan-of-two", run))
    return write_markdown(content(study, results, ABOUT))


def tags_in(page: str) -> set[str]:
    return set(re.findall(r"</?(\w+)", page))


def figures_in(page: str) -> list[str]:
    return re.findall(r"!\[[^\]]*\]\(([^)]+)\)", page)


def test_a_page_has_its_conclusions_tables_and_figures(files: dict[str, str]):
    page, study = files["lan-pairs.md"], Study.load("lan-pairs")
    for title in ("The conclusions, checked", "The tables", "The experiments", "Sources"):
        assert f"## {title}" in page
    for statement in study.statements:
        assert f"| {statement.says} | {statement.source} |" in page
    for table in study.tables:
        assert f"### {table.title}" in page
    for text in study.not_given:
        assert f"- {text}" in " ".join(page.split())
    # Published: Vegas first 9, Reno second 94.
    assert re.search(r"\| vegas, reno \| 9 \| [\d.]+‡ \([+-]\d+ %\) \| 94 \| [\d.]+‡ \([+-]\d+ %\) \|", page)
    assert "| Vegas has the smallest mean share | paper, section V | holds | holds ‡ |" in page
    window = study.parts["window"].about.rstrip(".")
    [row, *_] = page.partition(f"### {window}\n")[2].partition("| --- ")[2].splitlines()[1:]
    assert row.startswith("| simulator ‡ | ")
    assert "‡: from a scenario that options changed" in page
    command = "`tussle paper lan-pairs --quick --algorithms vegas,reno --part matrix,window`"
    assert command in " ".join(page.split())
    drawn = {"table-1", "table-1-matrix", "sweep-window", "matrix-1"}
    assert set(figures_in(page)) == {f"lan-pairs/{name}.svg" for name in drawn}


def test_a_page_opens_with_what_came_out_and_repeats_no_number_wrongly(files: dict[str, str]):
    page = files["lan-pairs.md"]
    opening, _, rest = " ".join(page.split()).partition(" ## What was done ")
    counts = re.search(r"\| Simulator \| (\d+) \| (\d+) \| (\d+) \| (\d+) \|", rest)
    assert counts is not None
    hold, depend, fail, not_run = counts.groups()
    total = len(Study.load("lan-pairs").statements)
    assert (depend, fail) == ("0", "0")
    counted = f"{hold} hold on the simulator; {not_run} were not run on the simulator"
    assert f"- Of {total} conclusions {counted}." in opening
    scores = re.search(r"\| simulator \| 8 \| (-?[\d.]+) \| (-?[\d.]+) \| (\d+) % \|", rest)
    assert scores is not None
    first, second, difference = scores.groups()
    ranks = (float(first) + float(second)) / 2
    words = f"Table I is {difference} % off print in the median on the simulator; the rank correlation is"
    assert f"- {words} {ranks:.2f}, and Cohen's κ" in opening
    assert "Not true of the study's own numbers: “Two flows get slightly more than 100 Mbit/s" in opening


def test_a_page_is_small_markdown_with_its_figures_beside_it(files: dict[str, str], tmp_path: Path):
    page = files["lan-pairs.md"]
    assert tags_in(page) <= {"details", "summary"}
    assert sum(len(text.encode()) for text in files.values()) < MOST_BYTES
    for table in re.findall(r"(?:^\|.*\n)+", page, re.MULTILINE):
        assert len({line.count("|") for line in table.splitlines()}) == 1
    saved = save(files, tmp_path / "docs", "lan-pairs.md")
    for figure in figures_in(page):
        assert (saved.parent / figure).read_text("utf-8").startswith("<svg")


@pytest.mark.parametrize("name", studies())
def test_the_page_in_the_repository_is_whole_and_small(name: str):
    page = (PAGES / f"{name}.md").read_text("utf-8")
    figures = {PAGES / figure for figure in figures_in(page)}
    assert figures == set((PAGES / name).glob("*.svg"))
    written = [PAGES / f"{name}.md", *figures]
    assert sum(file.stat().st_size for file in written) < MOST_BYTES
    assert tags_in(page) <= {"details", "summary"}
    assert all(statement.says in page for statement in Study.load(name).statements)


@pytest.mark.parametrize("name", studies())
def test_rows_of_a_page_have_the_numbers_of_its_csv(name: str):
    """The first row of each table that a page shows, to the four digits that it shows."""
    page = (PAGES / f"{name}.md").read_text("utf-8")
    rows = pl.read_csv(PAGES / name / "comparison.csv", schema_overrides={"published": pl.Float64})
    if Study.load(name).follows:
        assert not rows.is_empty()
        # The CSV has five digits: a fifth one of 5 may have been rounded, and says nothing of the fourth.
        means = [mean for mean in rows["mean"] if not f"{mean:.4e}".split("e")[0].endswith("5")]
        assert [mean for mean in means if f" {_number(mean)} |" not in page] == []
        return
    shown = 0
    for row, published, mean in rows.filter(engine="sim").select("row", "published", "mean").iter_rows():
        if published is not None and f"| {row} | {published:.4g} | {_number(mean)} (" in page:
            shown += 1
    assert shown >= 3


def test_a_number_of_a_page_of_today_stands_below_its_algorithm_and_beside_its_settings():
    page = (PAGES / "hsdpa-today.md").read_text("utf-8")
    rows = pl.read_csv(PAGES / "hsdpa-today" / "comparison.csv")
    [mean] = rows.filter(engine="sim", row="lte, fifo, cubic, 1", quantity="rtt")["mean"]
    _, _, table = page.partition("Downlink, mean RTT (ms), with a column for each `flows.0.algorithm`:")
    header, _, *lines = (
        [cell.strip() for cell in line.split("|")] for line in table.splitlines() if line.startswith("|")
    )
    [line] = [line for line in lines if line[1:5] == ["simulator", "lte", "fifo", "1"]][:1]
    assert line[header.index("cubic")] == _number(mean)


@pytest.mark.parametrize("page", sorted(PAGES.glob("*.md")), ids=lambda page: page.stem)
def test_every_row_of_a_table_has_the_cells_of_its_header(page: Path):
    for block in page.read_text("utf-8").split("\n\n"):
        rows = [line.strip("|").split(" | ") for line in block.splitlines() if line.startswith("|")]
        assert {len(row) for row in rows} <= {len(rows[0])} if rows else True, block


def test_a_setting_that_the_quick_size_fixes_stands_on_the_page():
    """The full size varies the RTT, and the quick one has 20 ms."""
    page = (PAGES / "linux-variants-today.md").read_text("utf-8")
    assert re.search(r"^\| Linux 6.12 \| 20 ms \| fifo \| 0\.\d+ \|", page, re.MULTILINE)
    rows = pl.read_csv(PAGES / "linux-variants-today" / "comparison.csv")
    assert rows.filter(engine="kernel-linux-6.12", row="20 ms, fifo, reno")["mean"].len() == 1


def test_only_a_page_of_today_says_whose_its_thresholds_are():
    for name in studies():
        page = " ".join((PAGES / f"{name}.md").read_text("utf-8").split())
        assert ("the threshold is Tussle's own" in page) == bool(Study.load(name).follows)


def _number(value: float) -> str:
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"
