"""The table of `tussle compare`."""

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from tussle.compare import NOT_SHOWN, REAL, WITHIN
from tussle.errors import TussleError
from tussle.statistics import LEAST

_MOST_ROWS = 60
"""Largest number of rows in the terminal; files have all of them."""
_BIT_PER_S = "_bit_per_s"
"""End of the names of columns that are shown in Mbit/s."""
_WHOLE_FROM = 9999.5


def refuse_too_few(rows: pl.DataFrame, again: str) -> None:
    """Raise TussleError: with too few runs, no difference can be shown, so that exit status 0 would mislead.

    `again` names the datasets to be run again: "both" or "it".
    """
    undecided = rows.filter(pl.col("low").is_null(), pl.col("verdict") == NOT_SHOWN)
    raise TussleError(
        f"{undecided.height} of these differences are undecided, because {undecided['runs'].min()} runs of a "
        f"point are too few; run {again} again with --repetitions {LEAST} or more (and start_jitter, if "
        "nothing else is random), or give a --threshold"
    )


def table_of(rows: pl.DataFrame) -> Table:
    """Return the table: real differences first, then undecided ones, then those within their threshold."""
    titles = ("A", "B", "B - A", "95 % interval", "runs")
    columns = ["point", "flow", "value", *(Column(title, justify="right") for title in titles), "verdict"]
    table = Table(*columns, box=SIMPLE_HEAD, padding=(0, 0, 0, 1), title_justify="left")
    rank = pl.col("verdict").replace_strict({REAL: 0, NOT_SHOWN: 1, WITHIN: 2})
    for row in rows.sort(rank, maintain_order=True).head(_MOST_ROWS).iter_rows(named=True):
        scale = 1e-6 if row["column"].endswith(_BIT_PER_S) else 1.0
        value = row["column"].replace(_BIT_PER_S, ", Mbit/s")
        numbers = [_number(row[column] * scale) for column in ("first", "second")]
        part = f" ({row['difference'] / abs(row['first']):+.1%})" if row["first"] else ""
        interval = "-"
        if row["low"] is not None:
            interval = f"{_number(row['low'] * scale)} to {_number(row['high'] * scale)}"
        verdict = Text(row["verdict"], style="red" if row["verdict"] == REAL else "")
        pairs = "pair" if row["runs"] == 1 else "pairs"
        runs = f"{row['runs']} {pairs if row['paired'] else 'each'}"
        difference = f"{_number(row['difference'] * scale)}{part}"
        of = row["point"], row["flow"] or "", value
        table.add_row(*of, *numbers, difference, interval, runs, verdict)
    if rows.height > _MOST_ROWS:
        table.caption = f"and {rows.height - _MOST_ROWS} more rows, which --csv writes"
    return table


def _number(value: float) -> str:
    """Format a number with four digits, or as a whole number if that has more.

    >>> [_number(x) for x in (0.0, 48.25131, -123456.7)]
    ['0', '48.25', '-123457']
    """
    return f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
