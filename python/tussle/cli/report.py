"""`tussle report`: writes the report of a dataset."""

from pathlib import Path
from typing import Annotated

import typer

import tussle
from tussle.cli._options import DatasetFolder
from tussle.cli._report_page import write_report
from tussle.cli._terminal import say


def report(
    folder: DatasetFolder,
    output: Annotated[
        Path | None,
        typer.Option("--output", "-o", metavar="FILE", help="The file.", show_default="DIR/report.html"),
    ] = None,
) -> None:
    """Write the report of a dataset: one HTML file that works offline."""
    page = write_report(tussle.open(folder), output or folder / "report.html")
    say(f"report: {page}")
