"""`tussle script`: plays packet scripts."""

from pathlib import Path
from typing import Annotated

import typer

from tussle.cli._engines import OneKernel
from tussle.cli._terminal import say

_FAILED = 1
"""Exit status: a script does not hold."""


def script(
    files: Annotated[list[Path], typer.Argument(metavar="FILE", help="Packet scripts, as TOML.")],
    *,
    engine: Annotated[
        str,
        typer.Option(
            metavar="sim|kernel",
            help="The engine that plays the scripts: the simulator, or Linux in virtual time.",
        ),
    ] = "sim",
    kernel: OneKernel = None,
) -> None:
    """Play packet scripts, which test TCP packet by packet, and print which of them hold.

    The exit status is 0 when all hold, 1 when one fails, and 2 when one is not a valid script.
    """
    from tussle.packet_scripts import play

    verdicts = play(files, engine, kernel)
    for verdict in verdicts:
        say(f"{verdict.file} {verdict.outcome}: {verdict.words or verdict.claim}")
    if any(verdict.outcome == "fails" for verdict in verdicts):
        raise typer.Exit(_FAILED)
