"""Everything fits a terminal of 80 columns, and no word is cut."""

import re
import shutil
import sys
from collections.abc import Callable
from itertools import pairwise
from pathlib import Path
from typing import Literal

import pytest
import typer.main
from click import unstyle
from test_help import COMMANDS

import tussle
from commandline import Answer
from tussle.answers import Cell, Grid, Heading
from tussle.cli import _sweep, app, suite
from tussle.cli._help import subcommands
from tussle.cli.list_ import LISTS
from tussle.suites import CriterionResult, SuiteResult, write_result

COLUMNS = 80
_WORD = re.compile(r"[\w./%<>=+-]+")
_BORDER = str.maketrans("│╭╮╰╯─┃┏┓┗┛━", " " * 12)


@pytest.fixture
def in_terminal(tussle_: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch) -> Callable[..., Answer]:
    """Call the command as in a terminal of 80 columns."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    monkeypatch.setenv("NO_COLOR", "1")
    monkeypatch.setenv("TERM", "xterm")  # rich takes a dumb one as 80 columns, whatever COLUMNS says

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
        monkeypatch.setattr(sys.stderr, "isatty", lambda: True, raising=False)
        answer = tussle_(*arguments)
        return Answer(answer.status, unstyle(answer.out), unstyle(answer.problems))

    return call


ALGORITHMS = ("reno", "cubic", "vegas", "bbr", "westwood", "highspeed")
PAIRS = ("--profile", "lan", "--duration", "2 s", "--stagger", "0.5 s", "--repetitions", 1)


@pytest.fixture(scope="module")
def pairs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("pairs") / "pairs"
    tussle.matrix(
        list(ALGORITHMS), profile="lan", duration="2 s", stagger="0.5 s", repetitions=1, output=folder
    )
    return folder


def words(text: str) -> set[str]:
    return set(_WORD.findall(text.translate(_BORDER)))


def too_long(text: str) -> list[str]:
    return [line for line in text.splitlines() if len(line) > COLUMNS]


def cut(narrow: str, wide: str) -> set[str]:
    """The words of a wide output that a narrow one lacks; a line may be broken between words only."""
    return words(wide) - words(narrow)


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_help_fits_and_cuts_no_word(in_terminal, monkeypatch, command: tuple[str, ...]):
    narrow = in_terminal(*command, "--help").out
    assert too_long(narrow) == []
    monkeypatch.setenv("COLUMNS", "400")
    assert cut(narrow, in_terminal(*command, "--help").out) == set()


def test_usage_has_brackets_around_what_can_be_left_out_only(in_terminal):
    usages = [in_terminal(name, "--help").out.split("\n")[1] for name in ("compare", "run", "list")]
    shown = [usage.split("[OPTIONS]")[1].strip() for usage in usages]
    assert shown == ["A [B]", "SCENARIO...", "[LIST]"]


@pytest.mark.parametrize("command", COMMANDS, ids=" ".join)
def test_paragraphs_of_help_fill_their_lines(in_terminal, command: tuple[str, ...]):
    """A line ends where the next word does not fit, or where the paragraph does."""
    above_boxes = in_terminal(*command, "--help").out.partition("╭")[0]
    lines = [line.rstrip() for line in above_boxes.splitlines()]
    early = [
        (line, following)
        for line, following in pairwise(lines)
        if line and following and len(f"{line} {following.split()[0]}") < COLUMNS
    ]
    assert early == []


@pytest.mark.parametrize("kind", [kind for kind in LISTS if kind != "kernels"])
def test_a_list_fits_and_cuts_no_word(in_terminal, monkeypatch, kind: str):
    narrow = in_terminal("list", kind).out
    assert too_long(narrow) == []
    monkeypatch.setenv("COLUMNS", "4000")
    assert cut(narrow, in_terminal("list", kind).out) == set()


SCENARIO = """
question = "Does a table with long axes fit?"
duration = "2 s"
repetitions = 1

[path]
rate = ["5 Mbit/s", "10 Mbit/s"]
rtt = ["20 ms", "40 ms"]
loss = "0 %"
queue.limit = ["1 bdp", "100 packets"]

[[flows]]
algorithm = "highspeed"
name = "a-flow-with-a-long-name"

[[flows]]
algorithm = "westwood"
"""


@pytest.fixture
def without_report(monkeypatch: pytest.MonkeyPatch) -> None:
    """Leave out the report, which takes most of the time; a command with the same folder prints again."""
    monkeypatch.setattr(_sweep, "write_report", lambda _dataset, page, _workers: page)


@pytest.mark.usefixtures("without_report")
def test_the_table_of_a_run_fits_and_has_every_value(in_terminal, monkeypatch, tmp_path: Path):
    (tmp_path / "axes.toml").write_text(SCENARIO)
    narrow = in_terminal("run", "axes.toml", "-o", "axes").out
    assert too_long(narrow) == []
    monkeypatch.setenv("COLUMNS", "400")
    wide = in_terminal("run", "axes.toml", "-o", "axes").out
    assert {word for word in cut(narrow, wide) if word[0].isdigit()} == set()
    assert "a-flow-with-a-long-name" in narrow


@pytest.mark.usefixtures("without_report")
def test_a_matrix_that_is_too_wide_continues_in_further_tables(in_terminal, monkeypatch, pairs: Path):
    command = ("matrix", "--algorithms", ",".join(ALGORITHMS), *PAIRS, "-o", pairs)
    narrow = in_terminal(*command).out.replace(str(pairs), "")
    assert too_long(narrow) == []
    assert narrow.count("first \\ second") == 2
    monkeypatch.setenv("COLUMNS", "400")
    wide = in_terminal(*command).out.replace(str(pairs), "")
    assert wide.count("first \\ second") == 1
    assert cut(narrow, wide) == set()


def test_the_table_of_a_comparison_fits_and_has_every_value(in_terminal, monkeypatch, pairs: Path):
    along = (
        "compare",
        pairs,
        "--along",
        "flows.0.algorithm",
        "--metric",
        "jain",
        "--threshold",
        "goodput=9999",
    )
    narrow = in_terminal(*along)
    assert too_long(narrow.out) == []
    assert too_long(narrow.problems.replace(str(pairs), "")) == []
    monkeypatch.setenv("COLUMNS", "400")
    assert {word for word in cut(narrow.out, in_terminal(*along).out) if word[0].isdigit()} == set()


WHY = "3 of 8 cases: harm to the victim's delay (starts at 0 s, buffer 0.5 bdp): 0.274, at most 0.108"


def verdicts(verdict: Literal["pass", "fail"], why: str) -> SuiteResult:
    criterion = CriterionResult(
        name="starved-by-others",
        section="5.2",
        strength="SHOULD",
        says="",
        verdict=verdict,
        why=why,
        threshold="",
        limits="",
        cases=(),
    )
    return SuiteResult(
        suite="rfc9743",
        document="RFC 9743",
        algorithm="reno",
        engine="sim",
        size="quick",
        queue=None,
        tussle=tussle.__version__,
        command="",
        verdict=verdict,
        criteria=(criterion,),
    )


def test_the_tables_of_verdicts_and_of_their_changes_fit_and_cut_no_word(in_terminal, tmp_path, capsys):
    results = {"a": verdicts("pass", "all"), "b": verdicts("fail", WHY)}
    for name, result in results.items():
        (tmp_path / name).mkdir()
        write_result(result, tmp_path / name)
    changed = in_terminal("compare", "a", "b").out
    suite._show(results["b"], tmp_path)
    printed = unstyle(capsys.readouterr().out).replace(str(tmp_path), "")
    for shown in (changed, printed):
        assert too_long(shown) == []
        assert {"starved-by-others", "pass" if shown == changed else "SHOULD"} <= words(shown)
        assert words(WHY) <= words(shown)


def test_errors_wrap_at_words(in_terminal):
    problems = in_terminal("matrix", "--algorithms", "nonesuch").problems
    assert too_long(problems) == []
    assert "--algorithms: unknown algorithm" in " ".join(problems.split())


@pytest.mark.usefixtures("in_terminal")
def test_a_grid_is_split_between_columns_and_repeats_the_names_of_rows(monkeypatch, capsys):
    from tussle.cli._grids import show_grids

    headings = [Heading("name"), *(Heading(f"column-{number}", "number") for number in range(12))]
    grid = Grid("A title", headings, [[Cell("row"), *(Cell(f"value-{n}") for n in range(12))]])
    monkeypatch.setattr(sys.stdout, "isatty", lambda: True, raising=False)
    show_grids([grid])
    shown = unstyle(capsys.readouterr().out)
    assert too_long(shown) == []
    assert {f"value-{number}" for number in range(12)} <= words(shown)
    assert shown.count("row") == shown.count("name") == 2
    assert shutil.get_terminal_size().columns == COLUMNS


def test_every_command_is_among_those_tested():
    named = {words for words in COMMANDS if len(words) == 1}
    assert named == {(name,) for name in subcommands(typer.main.get_command(app))}
