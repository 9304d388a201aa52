"""`tussle compare`: which differences between two datasets, or along an axis of one, are real."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import tussle
from tussle.cli._options import folder_of
from tussle.cli._terminal import complain, show_whole
from tussle.errors import TussleError

if TYPE_CHECKING:
    import polars as pl

    from tussle.compare import Comparison, Question
    from tussle.dataset import Dataset

_DIFFERENT = 1
"""Exit status: a difference is real, and exceeds its threshold."""


def compare(
    first: Annotated[
        Path,
        typer.Argument(
            metavar="A",
            parser=folder_of,
            help="A dataset or the result of a suite: the folder that `tussle run` or `tussle suite` wrote.",
        ),
    ],
    second: Annotated[
        Path | None,
        typer.Argument(
            metavar="B",
            parser=folder_of,
            help="The dataset to compare with it. Without it, the values of an axis of A are compared.",
            show_default="none",
        ),
    ] = None,
    *,
    along: Annotated[
        str | None,
        typer.Option(
            metavar="AXIS",
            help="Without B: compare each further value of this axis with the first, such as kernel or "
            "path.queue.kind.",
            show_default="kernel",
        ),
    ] = None,
    metric: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC",
            help="A metric of runs or of flows, from `tussle list metrics`. Repeatable.",
            show_default="goodput, and those with a threshold",
        ),
    ] = None,
    threshold: Annotated[
        list[str] | None,
        typer.Option(
            metavar="METRIC=AMOUNT",
            help="Differences up to this amount do not count: jain=0.01, or, relative to A's median, "
            "goodput=2%. Repeatable.",
            show_default="0",
        ),
    ] = None,
    csv: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write every row as CSV.")] = None,
    json: Annotated[Path | None, typer.Option(metavar="FILE", help="Also write every row as JSON.")] = None,
) -> None:
    """Compare two datasets, or the values of an axis of one, and say which differences are real.

    Two datasets are compared point by point. In one dataset, each further value of an axis is compared with
    the first, point by point over the other axes.

    Two results of `tussle suite` are compared by their verdicts: the criteria whose verdicts changed.

    The exit status is 1 when a difference is real and exceeds its threshold, or a verdict changed, 2 when
    the runs are too few to decide, else 0.
    """
    from tussle.compare import Question
    from tussle.compare import threshold as threshold_of

    if second is not None and along is not None:
        raise TussleError("--along compares the values of an axis of one dataset; leave out B, or the option")
    if second is not None and _are_suites(first, second):
        if metric or threshold or csv or json:
            raise TussleError("results of suites are compared by their verdicts; leave the other options out")
        _show_changes(first, second)
        return
    limits = dict(threshold_of(text) for text in threshold or [])
    question = Question([*(metric or ["goodput"]), *limits], limits)
    dataset = tussle.open(first)
    if second is None:
        found = _along(dataset, along, question)
    else:
        found = _compared(dataset, tussle.open(second), question)
    _write(found.rows, {"csv": csv, "json": json})
    _show(found)


def _are_suites(first: Path, second: Path) -> bool:
    """Return whether both folders hold results of suites; raises TussleError if only one does."""
    from tussle.suites import is_result

    kinds = [is_result(folder) for folder in (first, second)]
    if any(kinds) and not all(kinds):
        other = second if kinds[0] else first
        raise TussleError(f"{other} holds no result of a suite, and the other one does; give two of a kind")
    return all(kinds)


def _show_changes(first: Path, second: Path) -> None:
    """Print the criteria whose verdicts differ; raises typer.Exit when there are any."""
    from rich.table import Table

    from tussle.suites import changes, read_result

    found = changes(read_result(first), read_result(second))
    if not found:
        typer.echo("no verdict changed")
        return
    table = Table("section", "criterion", "A", "B", "why", box=None, pad_edge=False)
    for change in found:
        table.add_row(change.section, change.name, change.before, change.after, change.why)
    show_whole(table)
    raise typer.Exit(_DIFFERENT)


class _Found(NamedTuple):
    """Results of a comparison."""

    rows: "pl.DataFrame"
    """Every row, as written to files."""
    comparisons: "Mapping[str, Comparison]"
    """Comparisons by the title of their table, which is empty if there is only one."""
    again: str
    """The datasets to be run again for a verdict: "both", or "it"."""


def _compared(first: "Dataset", second: "Dataset", question: "Question") -> _Found:
    from tussle.compare import compare as compared

    comparison = compared(first, second, question)
    return _Found(comparison.rows, {"": comparison}, "both")


def _along(dataset: "Dataset", named: str | None, question: "Question") -> _Found:
    """Compare along the axis that is named, else the kernels; raises TussleError when there are none."""
    from tussle.compare import along
    from tussle.dataset import KERNEL_AXIS
    from tussle.metrics import axis_columns

    axes = axis_columns(dataset)
    if named is None and KERNEL_AXIS not in axes:
        one_of = f", or --along with one of its axes: {', '.join(axes)}" if axes else ""
        raise TussleError(
            f"{dataset.folder} has one kernel; give a second dataset to compare it with{one_of}"
        )
    try:
        found = along(dataset, named or KERNEL_AXIS, question)
    except TussleError as error:
        raise TussleError(f"{dataset.folder}: {error}") from error
    titles = {f"{found.axis}: A is {found.first}, B is {value}": each for value, each in found.others.items()}
    return _Found(found.rows, titles, "it")


def _write(rows: "pl.DataFrame", files: "Mapping[str, Path | None]") -> None:
    """Write the rows into each file that is given, by its format."""
    from tussle.exports import TABLE_FORMATS, whole_file

    for format_name, file in files.items():
        if file is not None:
            written = TABLE_FORMATS[format_name]
            whole_file(file, lambda path, written=written: written.write(rows.lazy(), path))


def _show(found: _Found) -> None:
    """Print the tables and the notes; raises typer.Exit when a difference is real."""
    from tussle.cli._differences import refuse_too_few, table_of

    for title, comparison in found.comparisons.items():
        table = table_of(comparison.rows)
        table.title = title or None
        show_whole(table)
    for note in dict.fromkeys(note for each in found.comparisons.values() for note in each.notes):
        complain(note)
    if any(comparison.has_real_difference for comparison in found.comparisons.values()):
        raise typer.Exit(_DIFFERENT)
    if any(comparison.undecided for comparison in found.comparisons.values()):
        refuse_too_few(found.rows, found.again)
