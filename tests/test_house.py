"""The rules of the house that linters do not know."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest
import typer

from tussle import engines
from tussle.catalog import catalog
from tussle.cli import app
from tussle.figures import REGISTRY as FIGURES
from tussle.metrics import REGISTRY as METRICS

ROOT = Path(__file__).parent.parent
CODE = ROOT / "python"
CORE = ROOT / "crates" / "tussle-core" / "src"

MOST_LINES = 800
MOST_ARGUMENTS = 3
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

Function = ast.FunctionDef | ast.AsyncFunctionDef


def written_files() -> list[Path]:
    below = [file for folder in FOLDERS for file in (ROOT / folder).rglob("*") if file.suffix in WRITTEN]
    beside = [file for file in ROOT.iterdir() if file.suffix in WRITTEN]
    return sorted(file for file in below + beside if "target" not in file.parts)


def functions() -> Iterator[tuple[str, Function]]:
    """Every function that our package defines, but for those whose parameters are options of the command."""
    ours = {callback.__name__ for callback in callbacks(app)}
    for file in sorted(CODE.rglob("*.py")):
        for node in ast.walk(ast.parse(file.read_text("utf-8"))):
            if isinstance(node, Function) and not (file.parent.name == "cli" and node.name in ours):
                yield f"{file.relative_to(ROOT)}:{node.lineno} {node.name}", node


def callbacks(of: typer.Typer) -> Iterator:
    """What typer calls with the values of options."""
    for registered in [*of.registered_commands, of.registered_callback]:
        if registered is None or registered.callback is None:
            continue
        yield registered.callback
        hints = [
            hint for hint in registered.callback.__annotations__.values() if hasattr(hint, "__metadata__")
        ]
        options = [option for hint in hints for option in hint.__metadata__]
        yield from (option.callback for option in options if getattr(option, "callback", None))
    for group in of.registered_groups:
        if group.typer_instance:
            yield from callbacks(group.typer_instance)


def test_no_file_is_too_long_to_read():
    long = {file: len(file.read_text("utf-8").splitlines()) for file in written_files()}
    assert {str(file): lines for file, lines in long.items() if lines > MOST_LINES} == {}


def test_no_function_takes_more_than_three_positional_arguments():
    def positional(function: Function) -> int:
        names = [each.arg for each in function.args.posonlyargs + function.args.args]
        return len([name for name in names if name not in ("self", "cls")])

    assert [where for where, function in functions() if positional(function) > MOST_ARGUMENTS] == []


def test_no_function_takes_a_boolean():
    def booleans(function: Function) -> list[str]:
        every = function.args.posonlyargs + function.args.args + function.args.kwonlyargs
        hints = {each.arg: ast.unparse(each.annotation) for each in every if each.annotation}
        return [name for name, hint in hints.items() if re.search(r"\bbool\b", hint)]

    assert [where for where, function in functions() if booleans(function)] == []


def test_no_function_of_the_simulator_takes_a_boolean():
    signature = re.compile(r"\bfn \w+(?:<[^>]*>)?\(([^)]*)\)")
    found = [
        f"{file.relative_to(ROOT)}: {parameters}"
        for file in CORE.rglob("*.rs")
        for parameters in signature.findall(file.read_text("utf-8"))
        if re.search(r": bool\b", parameters)
    ]
    assert found == []


@pytest.mark.parametrize(
    ("names", "folder"),
    [
        (catalog().algorithms, CORE / "cc"),
        (catalog().queues, CORE / "queue"),
        (catalog().effects, CORE / "path"),
        (METRICS, CODE / "tussle" / "metrics"),
        (FIGURES, CODE / "tussle" / "figures"),
        ([engines.engine(name).name for name in engines.names()], CODE / "tussle" / "engines"),
    ],
    ids=["algorithms", "queues", "effects", "metrics", "figures", "engines"],
)
def test_what_has_a_name_has_a_file_of_that_name(names, folder):
    files = {file.stem for file in folder.iterdir()}
    assert [name for name in names if name not in files] == []


def test_a_citation_leads_to_the_section_that_it_names():
    link = re.compile(r"\[([^]]+)\]\(https://www\.rfc-editor\.org/rfc/rfc(\d+)(?:#section-([\d.]+))?\)")
    cited = [found for file in written_files() for found in link.findall(file.read_text("utf-8"))]
    assert cited
    for text, number, section in cited:
        # Some RFCs number their rules: 2.1 may be the first rule of section 2.
        assert re.fullmatch(rf"RFC {number}(, {re.escape(section)}([.,:].+)?)?", text), text
        assert bool(section) == ("," in text), text


def test_departures_are_of_something_that_exists():
    known = {entry.stem for entry in (CORE / "cc").iterdir()} | {"sender", *engines.names()}
    assert {file.stem for file in (ROOT / "docs" / "deviations").glob("*.toml")} <= known


def test_no_file_knows_where_it_lies_on_some_machine():
    private = re.compile(rf"{re.escape(str(ROOT))}/|(?<![\w.~])/(?:root|home|Users)/\w")
    found = [str(file) for file in written_files() if private.search(file.read_text("utf-8"))]
    assert found == []
