"""Rules of the project that linters do not check."""

import ast
import re
from pathlib import Path

import pytest

from tussle import engines
from tussle.catalog import catalog
from tussle.figures import REGISTRY as FIGURES
from tussle.metrics import REGISTRY as METRICS

ROOT = Path(__file__).parent.parent
CODE = ROOT / "python"
CORE = ROOT / "crates" / "tussle-core" / "src"

MOST_LINES = 800
WRITTEN = {".rs", ".py", ".toml", ".md", ".css", ".html", ".js", ".sh", ".cc", ".tcl"}
FOLDERS = [
    "crates",
    "python",
    "scenarios",
    "papers",
    "tests",
    "tools",
    "benches",
    "docs",
    ".ci",
    "fuzz",
    "kernel",
]


def written_files() -> list[Path]:
    below = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in WRITTEN]
    beside = [file for file in ROOT.iterdir() if file.suffix in WRITTEN]
    return sorted(file for file in below + beside if "target" not in file.parts)


def test_no_source_file_exceeds_800_lines():
    long = {file: len(file.read_text("utf-8").splitlines()) for file in written_files()}
    assert {str(file): lines for file, lines in long.items() if lines > MOST_LINES} == {}


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        (catalog().algorithms, CORE / "cc"),
        (catalog().queues, CORE / "net" / "queue"),
        (catalog().elements, CORE / "net" / "path"),
        (METRICS, CODE / "tussle" / "metrics"),
        (FIGURES, CODE / "tussle" / "figures"),
        ([engines.engine(name).name for name in engines.names()], CODE / "tussle" / "engines"),
    ],
    ids=["algorithms", "queues", "elements", "metrics", "figures", "engines"],
)
def test_every_registered_name_is_the_name_of_its_file(names, folder):
    files = {file.stem for file in folder.iterdir()}
    assert [name for name in names if name not in files] == []


def test_the_text_of_an_rfc_link_names_its_rfc_and_section():
    link = re.compile(r"\[([^]]+)\]\(https://www\.rfc-editor\.org/rfc/rfc(\d+)(?:#section-([\d.]+))?\)")
    cited = [found for file in written_files() for found in link.findall(file.read_text("utf-8"))]
    assert cited
    for text, number, section in cited:
        # Some RFCs number their rules: 2.1 may be the first rule of section 2.
        assert re.fullmatch(rf"RFC {number}(, {re.escape(section)}([.,:].+)?)?", text), text
        assert bool(section) == ("," in text), text


def test_a_doc_comment_can_be_understood_alone():
    """The first words of a comment shown on hover refer to nothing before it."""
    begins = {
        ".rs": re.compile(r"^(?!\s*//[/!]).*\n\s*//[/!] ((?:Of|That|Those|The same|It) .*)", re.MULTILINE),
        ".py": re.compile(r'"""((?:Of|That|Those|The same|It) .*)'),
    }
    code = [file for file in written_files() if file.suffix in begins and file != Path(__file__)]
    found = {str(file): begins[file.suffix].findall(file.read_text("utf-8")) for file in code}
    assert {file: comments for file, comments in found.items() if comments} == {}


def test_each_departure_file_is_named_after_an_algorithm_the_sender_or_an_engine():
    known = {entry.stem for entry in (CORE / "cc").iterdir()} | {"sender", *engines.names()}
    assert {file.stem for file in (ROOT / "docs" / "deviations").glob("*.toml")} <= known


def test_no_file_contains_an_absolute_path_of_a_machine():
    private = re.compile(rf"{re.escape(str(ROOT))}/|(?<![\w.~])/(?:root|home|Users)/\w")
    found = [str(file) for file in written_files() if private.search(file.read_text("utf-8"))]
    assert found == []


def test_the_parts_of_tcp_know_nothing_of_its_ends():
    parts = [file for file in (CORE / "tcp").glob("*.rs") if file.stem not in {"mod", "receiver"}]
    assert parts
    importing = [file.name for file in parts if re.search(r"\b(sender|receiver)::", file.read_text("utf-8"))]
    assert importing == []


def test_a_scenario_does_not_call_the_simulator():
    """The import linter cannot check the extension module."""
    scenario = (CODE / "tussle" / "scenario").glob("*.py")
    calling = [file.name for file in scenario if re.search(r"\b_core\b", file.read_text("utf-8"))]
    assert calling == []


def _end(message: ast.expr) -> str:
    """Return the last literal part of a message."""
    match message:
        case ast.Constant(str(text)):
            return text
        case ast.JoinedStr([*_, last]):
            return _end(last)
    return ""


def test_no_error_message_ends_with_a_full_stop():
    for file in CODE.rglob("*.py"):
        calls = [node for node in ast.walk(ast.parse(file.read_text("utf-8"))) if isinstance(node, ast.Call)]
        errors = [call for call in calls if call.args and ast.unparse(call.func) == "TussleError"]
        assert [(file, call.lineno) for call in errors if _end(call.args[0]).endswith(".")] == []


def test_every_page_has_a_content_security_policy():
    pages = {page: page.read_text("utf-8") for page in ROOT.glob("python/tussle/*/templates/*.html")}
    policy = '<meta http-equiv="Content-Security-Policy" content="default-src \'none\';'
    [head] = [text for page, text in pages.items() if page.name == "head.html"]
    assert policy in head
    whole = {page.name: text for page, text in pages.items() if "<html" in text}
    assert len(whole) > 5
    assert [
        name for name, text in whole.items() if policy not in text and '{% include "head.html" %}' not in text
    ] == []
