"""`tussle studio`: the simulator in a web page."""

from pathlib import Path
from typing import Annotated

import typer

from tussle.cli._terminal import say


def studio(
    output: Annotated[
        Path, typer.Option("--output", "-o", metavar="FILE", help="The file; one that exists is replaced.")
    ] = Path("studio.html"),
) -> None:
    """Write the studio: the simulator in one web page, with sliders and lessons, without a server.

    Numbers are those of `tussle run`, to the byte. The page offers its scenario and its tables for download.
    """
    from tussle.studio import write

    say(f"studio: {write(output)}")
