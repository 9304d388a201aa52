"""Writing reports with all cores, and with a progress bar in the terminal."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import tussle
from tussle.cli._terminal import progress_console

if TYPE_CHECKING:
    from tussle.dataset import Dataset

_POINTS_A_WORKER = 12
"""The number of points per worker; with fewer, one more worker takes longer than it saves."""


def write_report(dataset: Dataset, path: Path, workers: int | None = None) -> Path:
    """Write the report of a dataset; `workers` is the number of processes, by default one for each core."""
    from rich.progress import BarColumn, MofNCompleteColumn, Progress, TextColumn, TimeRemainingColumn

    from tussle.report import Drawing
    from tussle.workers.pool import available_cores, processes

    columns = (TextColumn("report"), BarColumn(), MofNCompleteColumn(), TimeRemainingColumn())
    points = dataset.runs.select("point").unique().collect().height
    workers = max(1, min(workers or available_cores(), points // _POINTS_A_WORKER))
    with (
        Progress(*columns, console=progress_console(), transient=True) as bar,
        processes(workers) as executor,
    ):
        task = bar.add_task("points", total=None)
        drawing = Drawing(
            executor if workers > 1 else None,
            at_once=2 * workers,
            report=lambda done, count: bar.update(task, completed=done, total=count),
        )
        return tussle.write_report(dataset, path, drawing=drawing)
