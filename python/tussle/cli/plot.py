"""`tussle plot`: figures of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tussle
from tussle import units
from tussle.cli._completion import names_of
from tussle.cli._options import DatasetFolder, folder_of
from tussle.cli._terminal import say
from tussle.drawing_size import LEAST_PX, MOST_PX
from tussle.errors import TussleError

if TYPE_CHECKING:
    from tussle.dataset import Dataset


def plot(
    folder: DatasetFolder,
    figure: Annotated[
        str,
        typer.Argument(
            metavar="FIGURE",
            help="The figure, from `tussle list figures`.",
            autocompletion=names_of("figures"),
        ),
    ],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file, whose name ends in .pdf, .png, .svg or .html, unless --format is given.",
            show_default="FIGURE.svg",
        ),
    ] = None,
    file_format: Annotated[
        str | None,
        typer.Option(
            "--format",
            metavar="pdf|png|svg|html",
            help="The format, whatever the name of the file.",
            show_default="by the name of the file",
        ),
    ] = None,
    width: Annotated[
        int | None,
        typer.Option(
            metavar="PIXELS",
            min=LEAST_PX,
            max=MOST_PX,
            help="Width of all panels, without axes, titles and legends; a PNG has two dots per pixel.",
            show_default="the figure's",
        ),
    ] = None,
    height: Annotated[
        int | None,
        typer.Option(
            metavar="PIXELS",
            min=LEAST_PX,
            max=MOST_PX,
            help="Height of all panels.",
            show_default="the figure's",
        ),
    ] = None,
    title: Annotated[
        str | None,
        typer.Option(
            metavar="TEXT", help="Another title; the lines below it stay.", show_default="the figure's"
        ),
    ] = None,
    no_title: Annotated[
        bool,
        typer.Option("--no-title", help="Draw no title and no lines below it, for papers."),
    ] = False,
    point: Annotated[
        int | None,
        typer.Option(metavar="N", min=0, help="One point of the scenario.", show_default="all, side by side"),
    ] = None,
    metric: Annotated[
        str | None,
        typer.Option(
            metavar="NAME",
            help="The quantity, for figures of any metric: a metric, or a column of one.",
            show_default="the figure's",
        ),
    ] = None,
    start: Annotated[
        str | None,
        typer.Option(
            "--from", metavar="TIME", help='Start of a time series, such as "10 s".', show_default="0 s"
        ),
    ] = None,
    end: Annotated[
        str | None,
        typer.Option("--to", metavar="TIME", help="End of a time series.", show_default="the end of the run"),
    ] = None,
    beside: Annotated[
        list[Path] | None,
        typer.Option(
            metavar="DIR",
            parser=folder_of,
            help="Another dataset, for the figure overlay. Repeatable.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Draw a figure of a dataset into a file."""
    if no_title and title is not None:
        raise TussleError("--title gives the figure a title, and --no-title none; give one of them")
    dataset = tussle.open(folder)
    picture = tussle.figure(
        dataset,
        figure,
        point=point,
        metric=metric,
        between_s=_between_s(dataset, start, end),
        beside=[tussle.open(each) for each in beside or []],
        width_px=width,
        height_px=height,
        title="" if no_title else title,
    )
    file = output or Path(f"{figure}.{file_format or 'svg'}")
    say(f"figure: {picture.save(file, file_format)}")


def _between_s(dataset: Dataset, start: str | None, end: str | None) -> tuple[float, float] | None:
    if start is None and end is None:
        return None
    longest_s = dataset.runs.select("duration_s").max().collect().item()
    begin_s, end_s = _seconds("--from", start, 0.0), _seconds("--to", end, longest_s)
    if not begin_s < min(end_s, longest_s):
        raise TussleError(
            f"there is nothing to draw from {begin_s:g} s to {end_s:g} s: the runs last {longest_s:g} s, and "
            "--from must be before --to"
        )
    return begin_s, min(end_s, longest_s)


def _seconds(option: str, written: str | None, default_s: float) -> float:
    if written is None:
        return default_s
    try:
        return units.time(written) / 1e9
    except units.UnitError as error:
        raise TussleError(f"{option}: {error}") from error
