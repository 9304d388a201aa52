"""`tussle report` and `tussle plot`: pages and figures of a dataset."""

from pathlib import Path
from typing import Annotated

import typer

Folder = Annotated[Path, typer.Argument(metavar="DIR", help="What `tussle run` or `tussle matrix` wrote.")]


def report(
    folder: Folder,
    output: Annotated[
        Path | None, typer.Option("--output", "-o", metavar="FILE", show_default="DIR/report.html")
    ] = None,
) -> None:
    """Write the report of a dataset: one HTML file that works offline."""
    from tussle.dataset import Dataset
    from tussle.report import write

    page = write(Dataset.open(folder), output or folder / "report.html")
    typer.echo(f"report: {page}")


def plot(  # noqa: PLR0913 (typer makes an option of each parameter)
    folder: Folder,
    figure: Annotated[str, typer.Argument(metavar="FIGURE", help="From `tussle list figures`.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="Ends in .pdf, .png, .svg or .html.",
            show_default="FIGURE.svg",
        ),
    ] = None,
    point: Annotated[
        int | None, typer.Option(min=0, help="One point of the scenario.", show_default="all, side by side")
    ] = None,
) -> None:
    """Draw a figure of a dataset into a file."""
    from tussle.dataset import Dataset
    from tussle.figures import View, draw, save

    chart = draw(figure, Dataset.open(folder), View(point=point))
    typer.echo(f"figure: {save(chart, output or Path(f'{figure}.svg'))}")
