"""`tussle compare`: which differences between two datasets, or along an axis of one, are real."""

from collections.abc import Mapping
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, NamedTuple

import typer

import tussle
from tussle.cli._options import AsJson, folder_of
from tussle.cli._terminal import choose_json, columns, note, print_json, say, show_whole
from tussle.errors import TussleError, printable

if TYPE_CHECKING:
    import polars as pl

    from tussle.compare import Along, Comparison

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
    as_json: AsJson = False,
) -> None:
    """Compare two datasets, or the values of an axis of one, and say which differences are real.

    Two datasets are compared point by point. In one dataset, each further value of an axis is compared with
    the first, point by point over the other axes.

    Two results of `tussle suite` are compared by their verdicts: the criteria whose verdicts changed.

    The exit status is 1 when a difference is real and exceeds its threshold, or a verdict changed, 2 when
    the runs are too few to decide, else 0.
    """
    choose_json(as_json=as_json)
    if second is not None and along is not None:
        raise TussleError("--along compares the values of an axis of one dataset; leave out B, or the option")
    if second is not None and _are_suites(first, second):
        if metric or threshold or csv:
            raise TussleError(
                "results of suites are compared by their verdicts; leave out --metric, --threshold and --csv"
            )
        _show_changes(first, second)
        return
    dataset = tussle.open(first)
    compared = tussle.differences(
        dataset,
        tussle.open(second) if second is not None else None,
        axis=along,
        metrics=metric or ["goodput"],
        thresholds=_thresholds(threshold or []),
    )
    found = _found(compared)
    _write(found.rows, {"csv": csv})
    if as_json:
        from tussle.answers.documents import comparison_document

        document = comparison_document(compared, (str(first), str(second)))
        print_json(document.model_dump_json(indent=2))
    _show(found)


def _are_suites(first: Path, second: Path) -> bool:
    """Return whether both folders hold results of suites; raises TussleError if only one does."""
    from tussle.suites import is_result

    kinds = [is_result(folder) for folder in (first, second)]
    if any(kinds) and not all(kinds):
        other = second if kinds[0] else first
        raise TussleError(
            f"{other} holds no result of a suite, and the other one does; "
            "give two datasets, or two results of suites"
        )
    return all(kinds)


def _show_changes(first: Path, second: Path) -> None:
    """Print the criteria whose verdicts differ; raises typer.Exit when there are any."""
    from rich.table import Table

    from tussle.suites import changes_document, read_result

    document = changes_document(read_result(first), read_result(second))
    print_json(document.model_dump_json(indent=2))
    if not document.changes:
        say("no verdict changed")
        return
    table = Table("section", "criterion", "A", "B", "why", box=None, pad_edge=False)
    for change in document.changes:
        cells = (change.section, change.name, change.before, change.after, change.why)
        table.add_row(*map(printable, cells))
    show_whole(table, columns())
    raise typer.Exit(_DIFFERENT)


class _Found(NamedTuple):
    """Results of a comparison."""

    rows: "pl.DataFrame"
    """Every row, as written to files."""
    comparisons: "Mapping[str, Comparison]"
    """Comparisons by the title of their table, which is empty if there is only one."""
    again: str
    """The datasets to be run again for a verdict: "both", or "it"."""


def _thresholds(written: list[str]) -> dict[str, str]:
    """Return the amounts by metric; raises TussleError for a text without an amount."""
    from tussle.compare import threshold

    checked = [(threshold(text)[0], text) for text in written]
    return {name: text.partition("=")[2].strip() for name, text in checked}


def _found(compared: "Comparison | Along") -> _Found:
    """Return the rows and tables of a comparison of two datasets, or along an axis of one."""
    from tussle.compare import Along

    if not isinstance(compared, Along):
        return _Found(compared.rows, {"": compared}, "both")
    first = f"{compared.axis}: A is {compared.first}"
    titles = {f"{first}, B is {value}": each for value, each in compared.others.items()}
    return _Found(compared.rows, titles, "it")


def _write(rows: "pl.DataFrame", files: "Mapping[str, Path | None]") -> None:
    """Write the rows into each file that is given, by its format."""
    from tussle.exports import TABLE_FORMATS, whole_file

    for format_name, file in files.items():
        if file is not None:
            written = TABLE_FORMATS[format_name]
            whole_file(file, lambda path, written=written: written.write(rows.lazy(), path))


def _show(found: _Found) -> None:
    """Print the tables and the notes; raises typer.Exit when a difference is real."""
    from tussle.cli._differences import grid_of, refuse_too_few
    from tussle.cli._grids import show_grids

    show_grids(grid_of(comparison.rows, title) for title, comparison in found.comparisons.items())
    for text in dict.fromkeys(text for each in found.comparisons.values() for text in each.notes):
        note(text)
    if any(comparison.has_real_difference for comparison in found.comparisons.values()):
        raise typer.Exit(_DIFFERENT)
    if any(comparison.undecided for comparison in found.comparisons.values()):
        refuse_too_few(found.rows, found.again)
