"""Every command of `tussle` with its usage, arguments and options, for the pages made from them."""

from collections.abc import Iterator
from dataclasses import dataclass
from typing import Any

import typer.main

from tussle.cli import app
from tussle.cli._help import metavar, subcommands, usage_of


@dataclass(frozen=True)
class Parameter:
    """An argument or an option."""

    spelling: str
    """The option as it is written, with a word for its value, such as `--output, -o DIR`."""
    about: str
    default: str
    """The default, in words or as a value; empty without one."""
    is_literal: bool
    """Whether the default is a value, as it would be typed."""


@dataclass(frozen=True)
class Described:
    """A command."""

    name: str
    usage: str
    about: str
    """Paragraphs, with empty lines between."""
    parameters: list[Parameter]
    """Arguments, then options."""


def commands() -> Iterator[Described]:
    """Yield `tussle`, and every command below it, in the order of the help."""
    yield from _with_inner("tussle", typer.main.get_command(app))


def _with_inner(name: str, command: Any) -> Iterator[Described]:
    arguments = [param for param in command.params if param.param_type_name == "argument"]
    options = [param for param in command.params if param.param_type_name == "option"]
    inner = subcommands(command)
    words = [name, *(["COMMAND"] if inner else [usage_of(param) for param in arguments])]
    usage = " ".join([*words, *(["[OPTIONS]"] if options else [])])
    parameters = [
        *(Parameter(metavar(param), param.help or "", "", is_literal=False) for param in arguments),
        *(_option(param) for param in options),
    ]
    yield Described(name, usage, command.help or "", parameters)
    for each in inner:
        yield from _with_inner(f"{name} {each}", inner[each])


def _option(param: Any) -> Parameter:
    flags = "/".join([", ".join(param.opts), *param.secondary_opts])
    spelling = flags if param.is_flag else f"{flags} {metavar(param)}"
    if isinstance(param.show_default, str):
        return Parameter(spelling, param.help or "", param.show_default, is_literal=False)
    if param.secondary_opts:
        chosen = param.opts if param.default else param.secondary_opts
        return Parameter(spelling, param.help or "", chosen[0], is_literal=True)
    is_shown = param.default not in (None, False, ()) and not callable(param.default)
    return Parameter(spelling, param.help or "", str(param.default) if is_shown else "", is_literal=is_shown)
