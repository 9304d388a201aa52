"""Running a scenario and writing its dataset and report, for all commands that execute runs."""

from collections.abc import Iterable
from pathlib import Path
from typing import TYPE_CHECKING, NamedTuple

import typer

import tussle
from tussle.cli._report_page import write_report
from tussle.cli._terminal import INTERRUPTED, complain, detail, note, print_json, progress_console, say
from tussle.errors import plural
from tussle.experiment import Execution, finished, sweep_settings
from tussle.scenario import Scenario

if TYPE_CHECKING:
    from tussle.answers import Summary
    from tussle.dataset import Dataset
    from tussle.engines import Engine
    from tussle.sweep import SweepProgress, SweepSettings


class SweepMeans(NamedTuple):
    """The engine of a sweep, its workers or its cluster, and the order of its runs."""

    engine: "Engine"
    workers: int | None
    cluster: str | None = None
    order: str = "points"

    def settings(self, progress: "SweepProgress") -> "SweepSettings":
        """Return the settings of the sweep; raises TussleError for an unknown order."""
        return sweep_settings(self.written(), progress)

    def written(self) -> Execution:
        """Return the arguments of `tussle.run`."""
        return Execution(engine=self.engine, workers=self.workers, cluster=self.cluster, order=self.order)


def _how_to_go_on(folder: Path) -> str:
    """Return the message for an interruption before or after the sweep."""
    if folder.exists():
        return f"interrupted; the results are in {folder}: `tussle report {folder}` writes their report"
    return "interrupted before anything was finished; repeat the same command"


def carry_out(scenario: Scenario, folder: Path, means: SweepMeans) -> "tuple[Summary, Path]":
    """Sweep, write the report, and print a summary of the results; return it, and the report's file."""
    _detail_plan(scenario, means)
    try:
        from tussle.dataset.files import REPORT, refuse_existing
        from tussle.sweep import ProgressBar

        with ProgressBar(progress_console(), note) as bar:
            if dataset := _finished_before(scenario, folder, means):
                bar.note(f"{folder} holds all runs of this command already; writing their report")
            else:
                refuse_existing(folder)
                arguments = means.written()
                arguments["progress"] = bar
                dataset = tussle.run(scenario, output=folder, **arguments)
        page = write_report(dataset, folder / REPORT, means.workers)
    except KeyboardInterrupt as interrupted:
        complain(str(interrupted) or _how_to_go_on(folder))
        raise typer.Exit(INTERRUPTED) from None
    from tussle.cli._grids import show_grids

    found = tussle.summary(dataset)
    show_grids(found.grids)
    for text in found.notes:
        note(text)
    for cost in bar.costs:
        note(cost.sentence())
    detail(f"digest of all results: {dataset.provenance['digest']}")
    say(f"report: {page}")
    return found, page


def _detail_plan(scenario: Scenario, means: SweepMeans) -> None:
    points, repetitions = len(scenario.points()), scenario.repetitions or 1
    detail(f"{plural(points, 'point')}, each {plural(repetitions, 'time')}, seed {scenario.seed}")
    for fact, value in means.engine.about().items():
        detail(f"engine, {fact}: {value}")


def print_results(done: "Iterable[tuple[Summary, Path]]") -> None:
    """Print the results of scenarios as JSON, if that was asked for."""
    from tussle.answers.documents import result, results_document

    found = [result(summary, str(page)) for summary, page in done]
    print_json(results_document(found).model_dump_json(indent=2))


def _finished_before(scenario: Scenario, folder: Path, means: SweepMeans) -> "Dataset | None":
    """Return the dataset if the same command was killed between its last run and its report."""
    from tussle.dataset.files import REPORT
    from tussle.dataset.places import is_remote

    if is_remote(folder) or (folder / REPORT).exists():
        return None
    return finished(scenario, folder, means.engine)
