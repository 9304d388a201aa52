"""Help texts that show the kind of a value, such as TIME or N, instead of a Python type."""

from collections.abc import Callable
from inspect import cleandoc
from typing import Any

import typer
from typer.core import TyperCommand, TyperGroup


def _as_written(params: list[Any]) -> list[Any]:
    """Show only the metavar of each option; flags and arguments show no value."""
    for param in params:
        is_bare = param.param_type_name == "argument" or getattr(param, "is_flag", False)
        shown = None if is_bare else param.metavar or "TEXT"
        param.display_type_rich = _constant(shown)
        param._get_number_range_help_str = _constant(None)
    return params


def _in_paragraphs(text: str | None) -> str | None:
    """Join the lines of each paragraph: the terminal decides where lines end."""
    if text is None:
        return None
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in cleandoc(text).split("\n\n"))


def _constant(value: str | None) -> Callable[..., str | None]:
    return lambda **_: value


class Command(TyperCommand):
    """A command whose help shows metavars instead of Python types, and paragraphs without line ends."""

    def __init__(self, *arguments: Any, help: str | None = None, **others: Any) -> None:  # noqa: A002 (the base's)
        super().__init__(*arguments, help=_in_paragraphs(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _as_written(super().get_params(ctx))


class Group(TyperGroup):
    """A group of commands with the help of `Command`."""

    def __init__(self, *arguments: Any, help: str | None = None, **others: Any) -> None:  # noqa: A002 (the base's)
        super().__init__(*arguments, help=_in_paragraphs(help), **others)

    def get_params(self, ctx: Any) -> list[Any]:
        """Return the parameters, and the option for help."""
        return _as_written(super().get_params(ctx))


def subcommands(command: Any) -> dict[str, Any]:
    """Return the commands of a group by name, in the order of its help; none of a single command."""
    if not isinstance(command, TyperGroup):
        return {}
    context = typer.Context(command)
    return {name: command.get_command(context, name) for name in command.list_commands(context)}
