"""`tussle compare`: which differences between two datasets are real."""

from pathlib import Path
from typing import Annotated

import typer

import tussle
from tussle.cli.folders import folder as folder_of
from tussle.cli.terminal import complain, show_whole

_DIFFERENT = 1
"""Exit status: something differs for real, beyond its threshold."""


def compare(  # noqa: PLR0913 (typer makes an option of each parameter)
    first: Annotated[
        Path,
        typer.Argument(metavar="A", parser=folder_of, help="A dataset: the folder that `tussle run` wrote."),
    ],
    second: Annotated[
        Path, typer.Argument(metavar="B", parser=folder_of, help="The dataset to compare with it.")
    ],
    *,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC",
            help="From `tussle list metrics`: one of runs or of flows. Repeatable.",
            show_default="goodput, and those with a threshold",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=AMOUNT",
            help="Differences up to this do not matter: goodput=2% of A's median, or jain=0.01. Repeatable.",
            show_default="any matters",
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Every row as CSV, too.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Every row as JSON, too.")] = None,
) -> None:
    """Compare two datasets point by point, and say which differences are real.

    The exit status is 1 when something differs for real beyond its threshold, else 0, so that it can be a
    gate; 2 when that cannot be told.
    """
    from tussle.cli.differences import refuse_too_few, table_of
    from tussle.compare import Question
    from tussle.compare import compare as compared
    from tussle.compare import threshold as threshold_of
    from tussle.exports import TABLE_FORMATS, whole_file

    limits = dict(threshold_of(text) for text in threshold or [])
    question = Question([*(metric or ["goodput"]), *limits], limits)
    comparison = compared(tussle.open(first), tussle.open(second), question)
    for format_name, file in {"csv": csv, "json": json}.items():
        if file is not None:
            written = TABLE_FORMATS[format_name]
            whole_file(file, lambda path, written=written: written.write(comparison.rows.lazy(), path))
    show_whole(table_of(comparison.rows))
    for note in comparison.notes:
        complain(note)
    if comparison.has_real_difference:
        raise typer.Exit(_DIFFERENT)
    if comparison.undecided:
        refuse_too_few(comparison.rows)
