"""`tussle compare`: which differences between two datasets are real."""

from pathlib import Path
from typing import Annotated

import polars as pl
import typer
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

import tussle
from tussle.cli.terminal import complain, show_whole
from tussle.errors import TussleError

_DIFFERENT = 1
"""Exit status: something differs for real, beyond its threshold."""
_MOST_ROWS = 60
"""A terminal's worth; files have the rest."""
_BIT_PER_S = "_bit_per_s"
"""How columns end that people read in Mbit/s."""
_WHOLE_FROM = 9999.5


def compare(  # noqa: PLR0913 (typer makes an option of each parameter)
    first: Annotated[
        Path, typer.Argument(metavar="A", help="A dataset: the folder that `tussle run` wrote.")
    ],
    second: Annotated[Path, typer.Argument(metavar="B", help="The dataset to compare with it.")],
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
    show_whole(_table(comparison.rows))
    for note in comparison.notes:
        complain(note)
    if comparison.has_real_difference:
        raise typer.Exit(_DIFFERENT)
    if comparison.undecided:
        _refuse_too_few(comparison.rows)


def _refuse_too_few(rows: pl.DataFrame) -> None:
    """Say that a gate with too few runs is none: what passes there may be any difference."""
    from tussle.statistics import LEAST

    undecided = rows.filter(pl.col("low").is_null(), pl.col("verdict") == "not shown")
    raise TussleError(
        f"whether {undecided.height} of these differences are real cannot be told from "
        f"{undecided['runs'].min()} runs of a point; run both again with --repetitions {LEAST} or more (and "
        "start_jitter, if nothing else is random), or give a --threshold"
    )


def _table(rows: pl.DataFrame) -> Table:
    """Lay out what differs first, then what may, then what does not."""
    titles = ("A", "B", "B - A", "95 % interval", "runs")
    columns = ["point", "flow", "value", *(Column(title, justify="right") for title in titles), "verdict"]
    table = Table(*columns, box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    rank = pl.col("verdict").replace_strict({"real": 0, "not shown": 1, "within threshold": 2})
    for row in rows.sort(rank, maintain_order=True).head(_MOST_ROWS).iter_rows(named=True):
        scale = 1e-6 if row["column"].endswith(_BIT_PER_S) else 1.0
        value = row["column"].replace(_BIT_PER_S, ", Mbit/s")
        numbers = [_number(row[column] * scale) for column in ("first", "second")]
        part = f" ({row['difference'] / abs(row['first']):+.1%})" if row["first"] else ""
        interval = "-"
        if row["low"] is not None:
            interval = f"{_number(row['low'] * scale)} to {_number(row['high'] * scale)}"
        verdict = f"[red]{row['verdict']}[/]" if row["verdict"] == "real" else row["verdict"]
        runs = f"{row['runs']} {'pairs' if row['paired'] else 'each'}"
        difference = f"{_number(row['difference'] * scale)}{part}"
        table.add_row(row["point"], row["flow"] or "", value, *numbers, difference, interval, runs, verdict)
    if rows.height > _MOST_ROWS:
        table.caption = f"and {rows.height - _MOST_ROWS} rows more, which --csv writes"
    return table


def _number(value: float) -> str:
    """Write four digits, or the whole number.

    >>> [_number(x) for x in (0.0, 48.25131, -123456.7)]
    ['0', '48.25', '-123457']
    """
    return f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
