"""Running a scenario and writing its dataset and report, for all commands that execute runs."""

from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple, cast

import typer

import tussle
from tussle.cli._report_page import write_report
from tussle.cli._terminal import INTERRUPTED, complain, progress_console, show_whole
from tussle.errors import TussleError, unknown
from tussle.scenario import Scenario

if TYPE_CHECKING:
    from tussle.dataset import Dataset
    from tussle.engines import Engine
    from tussle.sweep import Order, SweepProgress, SweepSettings


class SweepMeans(NamedTuple):
    """The engine of a sweep, its workers or its cluster, and the order of its runs."""

    engine: "Engine"
    workers: int | None
    cluster: str | None = None
    order: str = "points"

    def settings(self, progress: "SweepProgress") -> "SweepSettings":
        """Return the settings of the sweep; raises TussleError for an unknown order."""
        from tussle.sweep import ORDERS, SweepSettings

        if self.order not in ORDERS:
            raise TussleError(f"--order: {unknown('order', self.order, ORDERS)}")
        return SweepSettings(
            workers=self.workers,
            engine=self.engine,
            cluster=self.cluster,
            progress=progress,
            order=cast("Order", self.order),
        )


def _how_to_go_on(folder: Path) -> str:
    """Return the message for an interruption before or after the sweep."""
    if folder.exists():
        return f"interrupted; the results are in {folder}: `tussle report {folder}` writes their report"
    return "interrupted before anything was finished; repeat the same command"


def _finished_before(scenario: Scenario, folder: Path, means: SweepMeans) -> "Dataset | None":
    """Return the dataset if the same command was killed between its last run and its report."""
    from tussle.dataset.files import PROVENANCE, REPORT
    from tussle.dataset.places import is_remote

    if is_remote(folder) or not (folder / PROVENANCE).is_file() or (folder / REPORT).exists():
        return None
    found = tussle.open(folder)
    facts = (found.provenance["engine"], found.provenance.get("tussle"))
    if found.scenario != scenario or facts != (dict(means.engine.about()), tussle.__version__):
        return None
    typer.echo(f"{folder} holds all runs of this command already; writing their report")
    return found


def carry_out(scenario: Scenario, folder: Path, means: SweepMeans) -> None:
    """Sweep, write the report, and print a summary of the results."""
    try:
        from tussle.cli._summary import NOTES, summary
        from tussle.dataset.files import REPORT
        from tussle.sweep import ProgressBar, sweep

        with ProgressBar(progress_console()) as bar:
            dataset = _finished_before(scenario, folder, means)
            dataset = dataset or sweep(scenario, folder, means.settings(bar))
        page = write_report(dataset, folder / REPORT, means.workers)
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or _how_to_go_on(folder))
        raise typer.Exit(INTERRUPTED) from None
    for table in summary(dataset):
        show_whole(table)
    for note in NOTES:
        if text := note(dataset):
            typer.echo(text)
    for cost in bar.costs:
        typer.echo(cost.sentence())
    typer.echo(f"report: {page}")
