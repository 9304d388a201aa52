"""What all commands have in common: --quiet, --verbose, and help that shows values as people write them."""

import platform
from collections.abc import Callable
from functools import wraps
from inspect import Parameter, cleandoc, signature
from time import monotonic
from typing import Annotated, Any

import typer
from typer.core import TyperCommand, TyperGroup

import tussle
from tussle.cli._terminal import choose_amount, detail
from tussle.errors import TussleError


def _as_written(params: list[Any]) -> list[Any]:
    """Show only the metavar of each option; flags and arguments show no value."""
    for param in params:
        is_bare = param.param_type_name == "argument" or getattr(param, "is_flag", False)
        shown = None if is_bare else param.metavar or "TEXT"
        param.display_type_rich = _constant(shown)
        param._get_number_range_help_str = _constant(None)
        if param.param_type_name == "argument":
            param.get_usage_pieces = _usage_pieces(param)
    return params


def metavar(param: Any) -> str:
    """Return what stands for the value of a parameter."""
    return param.metavar or param.name.upper()


def usage_of(argument: Any) -> str:
    """Return an argument as a usage line shows it: in brackets if it is optional, with dots if it repeats."""
    shown = metavar(argument) + ("" if argument.nargs == 1 else "...")
    return shown if argument.required else f"[{shown}]"


def _usage_pieces(argument: Any) -> Callable[[Any], list[str]]:
    return lambda _context: [usage_of(argument)]


def _in_paragraphs(text: str | None) -> str | None:
    """Join the lines of each paragraph: the terminal decides where lines end."""
    if text is None:
        return None
    return "\n\n".join(paragraph.replace("\n", " ") for paragraph in cleandoc(text).split("\n\n"))


def _constant(value: str | None) -> Callable[..., str | None]:
    return lambda **_: value


_Quiet = Annotated[bool, typer.Option("--quiet", "-q", help="Print errors only.")]
_Verbose = Annotated[
    bool, typer.Option("--verbose", "-v", help="Also print versions, settings, digests and times.")
]


def with_output_options(command: Callable[..., None]) -> Callable[..., None]:
    """Add `--quiet` and `--verbose` to a command."""

    @wraps(command)
    def called(*, quiet: bool, verbose: bool, **arguments: Any) -> None:
        choose_amount(quiet=quiet, verbose=verbose)
        began_s = monotonic()
        detail(f"Tussle {tussle.__version__}, Python {platform.python_version()}, {platform.platform()}")
        try:
            command(**arguments)
        finally:
            detail(f"the command took {monotonic() - began_s:.1f} s")

    options = {"quiet": _Quiet, "verbose": _Verbose}
    declared = signature(command, eval_str=True)
    added = [
        Parameter(name, Parameter.KEYWORD_ONLY, default=False, annotation=option)
        for name, option in options.items()
    ]
    called.__signature__ = declared.replace(parameters=[*declared.parameters.values(), *added])  # pyright: ignore[reportAttributeAccessIssue] (PEP 362)
    called.__annotations__ = command.__annotations__ | options
    return called


def _refuse_repetitions(order: list[Any]) -> None:
    """Refuse an option that is twice in `order`, the parameters as given, unless it may be repeated."""
    for place, param in enumerate(order):
        if param in order[:place] and not (param.multiple or param.is_flag or param.count):
            name = max(param.opts, key=len)
            advice = f"all values at once: {name} {metavar(param)}" if "," in metavar(param) else "it once"
            raise TussleError(f"{name} is given twice; give {advice}")


class Command(TyperCommand):
    """A command whose help shows metavars instead of Python types, and paragraphs without line ends."""

    def __init__(self, *arguments: Any, help: str | None = None, **others: Any) -> None:  # noqa: A002 (the base's)
        super().__init__(*arguments, help=_in_paragraphs(help), **others)

    def parse_args(self, ctx: Any, args: list[str]) -> list[str]:
        """Parse arguments as the base does. An error names this command, also one of an option's form.

        Raises TussleError if an option with one value is repeated, of which the base would take the last.
        """
        try:
            if not ctx.resilient_parsing:  # as it is while the shell completes a command
                _refuse_repetitions(self.make_parser(ctx).parse_args(list(args))[2])
            return super().parse_args(ctx, args)
        except Exception as error:
            if getattr(error, "ctx", ctx) is None:
                error.ctx = ctx  # pyright: ignore[reportAttributeAccessIssue] (it has one, and is typer's or click's)
            raise

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
