"""The command `tussle`: reads arguments, calls the other parts, and prints. Nothing is computed here."""

import os
import re
import signal
import sys
import tempfile
from importlib import import_module
from types import FrameType
from typing import Annotated, Any

import typer

import tussle
from tussle.cli._help import Command, Group, with_output_options
from tussle.cli._terminal import INTERRUPTED, complain, nowhere
from tussle.errors import TussleError, naming_options

MISTAKE_OF_THE_USER = 2
"""Exit status, as for wrong arguments."""

_COMMANDS = {
    "run": "run:run",
    "matrix": "matrix:matrix",
    "serve": "serve:serve",
    "send": "send:send",
    "report": "report:report",
    "plot": "plot:plot",
    "compare": "compare:compare",
    "agree": "agree:agree",
    "paper": "paper:paper",
    "suite": "suite:suite",
    "worst": "worst:worst",
    "export": "export:export",
    "studio": "studio:studio",
    "script": "script:script",
    "list": "list_:show_list",
    "scenario": "scenario:app",
    "kernel": "kernel:app",
    "doctor": "doctor:doctor",
}
"""Module and function of each command, or its group of commands, in the order of the help."""


class _Commands(Group):
    """The commands. The module of a command, which may take long to import, is imported when it is called."""

    def list_commands(self, ctx: Any) -> list[str]:  # noqa: ARG002 (an override)
        """Return the names of all commands."""
        return list(_COMMANDS)

    def get_command(self, ctx: Any, cmd_name: str) -> Any:
        """Return a command. An unknown name imports all, of which the nearest is suggested."""
        for name in [cmd_name] if cmd_name in _COMMANDS else _COMMANDS:
            if name not in self.commands:
                self.commands[name] = _imported(name)
        return super().get_command(ctx, cmd_name)


def _imported(name: str) -> Any:
    module, attribute = _COMMANDS[name].split(":")
    command = getattr(import_module(f"tussle.cli.{module}"), attribute)
    if not isinstance(command, typer.Typer):
        alone = typer.Typer(add_completion=False)
        alone.command(name, cls=Command)(with_output_options(command))
        command = alone
    made = typer.main.get_command(command)
    made.name = name
    return made


app = typer.Typer(
    name="tussle",
    cls=_Commands,
    help="TCP congestion control simulator and testbed: fairness, coexistence, bufferbloat, AQM and ECN/L4S.",
    no_args_is_help=True,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer's callbacks receive the option's value)
    if wanted:
        typer.echo(f"tussle {tussle.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    _version: Annotated[
        bool, typer.Option("--version", "-V", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command; an error that the user can correct ends it with a message and status 2."""
    # The shell may have closed the standard output or the standard error (`>&-`).
    sys.stdout = sys.stdout or nowhere()
    sys.stderr = sys.stderr or nowhere()
    # SIGTERM does what Ctrl-C does: finished runs are kept, and workers end.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        with naming_options():
            status = app(standalone_mode=False)
        sys.stdout.flush()
        sys.exit(status)
    except typer.Abort:
        sys.exit(INTERRUPTED)
    except TussleError as error:
        complain(str(error), error.details)
        sys.exit(MISTAKE_OF_THE_USER)
    except BrokenPipeError:
        # The reader, such as `head`, has ended. Python would report the broken pipe again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        complain(_sentence(error))
        sys.exit(MISTAKE_OF_THE_USER)
    except Exception as error:
        # A mistake in options. Its class belongs to click, or to typer's copy of it, by the version of typer.
        if not hasattr(error, "format_message"):
            raise
        _complain_of_usage(error)
        sys.exit(MISTAKE_OF_THE_USER)


def _sentence(error: OSError) -> str:
    if error.filename is None and _standard_output_fails(error.errno):
        return f"cannot write the standard output: {error.strerror}; redirect it to another place"
    where = error.filename or f"a file, perhaps a temporary one in {tempfile.gettempdir()}"
    return f"{where}: {error.strerror or error}; check the folder, its permissions and the disk"


def _standard_output_fails(errno: int | None) -> bool:
    """Return whether writing to the standard output fails with that error: such errors name no file."""
    try:
        os.write(sys.stdout.fileno(), b"\n")
    except OSError as error:
        return error.errno == errno
    return False


def _complain_of_usage(error: Any) -> None:
    """Print what is wrong with the words of a command; of a group without a command, its help."""
    if type(error).__name__ == "NoArgsIsHelpError":
        error.show()
        return
    sentence = _in_words(error.format_message().rstrip("."))
    command = error.ctx.command_path if getattr(error, "ctx", None) else "tussle"
    complain(f"{sentence[:1].lower()}{sentence[1:]}; `{command} --help` shows how it is called")


_ASKED = (
    ("Input should be greater than or equal to ", "give at least "),
    ("Input should be less than or equal to ", "give at most "),
    ("Input should be a valid integer", "give a whole number"),
    ("Input should be a valid number", "give a number"),
)
"""How a message of the command line's parser begins, and what to say instead."""


def _in_words(message: str) -> str:
    """Return what is wrong, and what to give to an option whose value is of another kind or out of range."""
    invalid = re.fullmatch(r"Invalid value for '([^']+)': (.*)", message, re.DOTALL)
    if invalid is None:
        return message
    option, reason = invalid.groups()
    for beginning, asked in _ASKED:
        if reason.startswith(beginning):
            limit = reason.removeprefix(beginning) if asked.endswith(" ") else ""
            return f"{option}: {asked}{limit}"
    return message
