"""The command `tussle`: reads arguments, calls the other parts, and prints. Nothing is computed here."""

import os
import signal
import sys
from pathlib import Path
from types import FrameType
from typing import Annotated

import typer

import tussle
from tussle.cli import (
    agree,
    compare,
    export,
    kernel,
    list_,
    matrix,
    paper,
    plot,
    report,
    run,
    scenario,
    script,
    send,
    serve,
)
from tussle.cli._help import Command, Group
from tussle.cli._terminal import complain
from tussle.errors import TussleError

MISTAKE_OF_THE_USER = 2
"""Exit status, as for wrong arguments."""

app = typer.Typer(
    name="tussle",
    cls=Group,
    help="TCP congestion control simulator and testbed: fairness, coexistence, bufferbloat, AQM and ECN/L4S.",
    no_args_is_help=True,
    add_completion=False,
    pretty_exceptions_enable=False,
    context_settings={"help_option_names": ["-h", "--help"]},
)
_COMMANDS = {
    "run": run.run,
    "matrix": matrix.matrix,
    "serve": serve.serve,
    "send": send.send,
    "report": report.report,
    "plot": plot.plot,
    "compare": compare.compare,
    "agree": agree.agree,
    "paper": paper.paper,
    "export": export.export,
    "script": script.script,
    "list": list_.show_list,
}
for _name, _function in _COMMANDS.items():
    app.command(_name, cls=Command)(_function)
app.add_typer(scenario.app, name="scenario")
app.add_typer(kernel.app, name="kernel")


def _version(wanted: bool) -> None:  # noqa: FBT001 (typer's callbacks receive the option's value)
    if wanted:
        typer.echo(f"tussle {tussle.__version__}")
        raise typer.Exit


@app.callback()
def _main(
    *,
    _version: Annotated[
        bool, typer.Option("--version", callback=_version, is_eager=True, help="Print the version.")
    ] = False,
) -> None:
    pass


def _interrupt(_signal: int, _frame: FrameType | None) -> None:
    raise KeyboardInterrupt


def main() -> None:
    """Run the command; an error that the user can correct ends it with a message and status 2."""
    if sys.stdout is None:
        # The shell closed it (`>&-`).
        sys.stdout = Path(os.devnull).open("w", encoding="utf-8")  # noqa: SIM115 (until the process ends)
    # SIGTERM does what Ctrl-C does: finished runs are kept, and workers end.
    signal.signal(signal.SIGTERM, _interrupt)
    try:
        app()
    except TussleError as error:
        complain(str(error), error.details)
        sys.exit(MISTAKE_OF_THE_USER)
    except BrokenPipeError:
        # The reader, such as `head`, has ended. Python would report the broken pipe again when it flushes.
        os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())
        sys.exit(0)
    except OSError as error:
        where = error.filename or "standard output, or a file"
        complain(f"{where}: {error.strerror}; check the folder, its permissions and the disk")
        sys.exit(MISTAKE_OF_THE_USER)
