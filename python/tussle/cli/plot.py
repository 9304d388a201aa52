"""`tussle plot`: figures of a dataset."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

import tussle
from tussle import units
from tussle.cli._options import DatasetFolder, folder_of
from tussle.errors import TussleError

if TYPE_CHECKING:
    from tussle.dataset import Dataset
    from tussle.figures import Beside


def plot(
    folder: DatasetFolder,
    figure: Annotated[str, typer.Argument(metavar="FIGURE", help="The figure, from `tussle list figures`.")],
    *,
    output: Annotated[
        Path | None,
        typer.Option(
            "--output",
            "-o",
            metavar="FILE",
            help="The file, whose name ends in .pdf, .png, .svg or .html.",
            show_default="FIGURE.svg",
        ),
    ] = None,
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
        Path | None,
        typer.Option(
            metavar="DIR",
            parser=folder_of,
            help="The second dataset, for the figure overlay.",
            show_default="none",
        ),
    ] = None,
) -> None:
    """Draw a figure of a dataset into a file."""
    from tussle.figures import View, draw, save

    dataset = tussle.open(folder)
    view = View(
        point=point,
        metric=metric,
        between_s=_between_s(dataset, start, end),
        beside=_beside(dataset, beside) if beside else None,
    )
    typer.echo(f"figure: {save(draw(figure, dataset, view), output or Path(f'{figure}.svg'))}")


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


def _beside(dataset: Dataset, folder: Path) -> Beside:
    """Open the second dataset, and name both by a difference: engines, their versions, or folders."""
    from tussle.figures import Beside

    other = tussle.open(folder)
    both = [each.provenance.get("engine") or {} for each in (dataset, other)]
    names = [str(engine.get("name")) for engine in both]
    versions = [f"{engine.get('name')} {engine.get('version')}" for engine in both]
    folders = [each.folder.name for each in (dataset, other)]
    first_name, name = next((pair for pair in (names, versions) if pair[0] != pair[1]), folders)
    return Beside(other, name, first_name)
