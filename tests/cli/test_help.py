"""Help texts of all commands: what people type, in their words."""

import re
from collections.abc import Iterator
from typing import Any

import pytest
import typer.main

from tussle.cli import app
from tussle.cli._help import subcommands

PYTHON_TYPE = re.compile(r"<[^>]*>|list\[|\brange\b|\b(?:bool|str|int|float|Path|None)\b|x[<>]=|<=x")


def commands(words: tuple[str, ...], command: Any) -> Iterator[tuple[str, ...]]:
    yield words
    for name, each in subcommands(command).items():
        yield from commands((*words, name), each)


COMMANDS = list(commands((), typer.main.get_command(app)))
GROUPS = {words for words in COMMANDS if any(each[:-1] == words for each in COMMANDS)}


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_help_shows_values_as_people_write_them(tussle_, words: tuple[str, ...]):
    answer = tussle_(*words, "--help")
    assert answer.status == 0
    assert PYTHON_TYPE.findall(answer.out) == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_option_with_a_value_names_its_kind(words: tuple[str, ...]):
    command: Any = typer.main.get_command(app)
    for word in words:
        command = subcommands(command)[word]
    bare = [param.name for param in command.params if not getattr(param, "is_flag", False)]
    assert [name for name in bare if next(p for p in command.params if p.name == name).metavar is None] == []


@pytest.mark.parametrize("words", COMMANDS, ids=" ".join)
def test_every_command_is_quiet_or_verbose_if_asked(tussle_, words: tuple[str, ...]):
    shown = tussle_(*words, "--help").out
    assert ("--quiet" in shown) == ("--verbose" in shown) == (words not in GROUPS)


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (("agree", "--reuse"), "option '--reuse' requires an argument; `tussle agree --help`"),
        (("kernel", "build", "--name"), "option '--name' requires an argument; `tussle kernel build --help`"),
        (("run", "--quiet=yes"), "option '--quiet' does not take a value; `tussle run --help`"),
    ],
)
def test_an_option_without_its_value_names_the_help_of_its_command(tussle_, arguments, says: str):
    assert tussle_(*arguments).problems == f"tussle: {says} shows how it is called\n"


@pytest.mark.parametrize(
    ("arguments", "says"),
    [
        (
            ("paper", "lan-pairs", "--part", "matrix", "--part", "buffers"),
            "--part is given twice; give all values at once: --part A,B,…",
        ),
        (("run", "lte.toml", "-o", "a", "--output", "b"), "--output is given twice; give it once"),
    ],
)
def test_an_option_with_one_value_is_not_given_twice(tussle_, arguments, says: str):
    assert tussle_(*arguments).problems == f"tussle: {says}\n"


def test_flags_and_options_with_several_values_are_repeated_at_will(tussle_):
    """The next problem is that of the scenario."""
    arguments = ("run", "missing.toml", "--quiet", "--quiet", "--set", "seed=1", "--set", "duration=1 s")
    assert tussle_(*arguments).problems.startswith("tussle: scenario missing.toml: there is no file")
