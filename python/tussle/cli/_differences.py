"""The table of `tussle compare`."""

import polars as pl

from tussle.answers import Cell, Grid, Heading
from tussle.compare import NOT_SHOWN, REAL
from tussle.compare.shown import HEADER, in_words, ordered
from tussle.errors import TussleError, plural
from tussle.statistics import LEAST

_MOST_ROWS = 60
"""Largest number of rows in the terminal; files have all of them."""
_NUMBERS = {"A", "B", "B - A", "95 % interval", "runs"}
_KEYS = 3
"""The columns that name a row."""


def refuse_too_few(rows: pl.DataFrame, again: str) -> None:
    """Raise TussleError: with too few runs, no difference can be shown, so that exit status 0 would mislead.

    `again` names the datasets to be run again: "both" or "it".
    """
    undecided = rows.filter(pl.col("low").is_null(), pl.col("verdict") == NOT_SHOWN)
    runs = int(undecided["runs"].min() or 0)  # pyright: ignore[reportArgumentType]
    raise TussleError(
        f"{undecided.height} of these differences {'is' if undecided.height == 1 else 'are'} undecided, "
        f"because {plural(runs, 'run')} of a point {'is' if runs == 1 else 'are'} too few; run {again} again "
        f"with --repetitions {LEAST} or more (and start_jitter, if nothing else is random), or give a "
        "--threshold"
    )


def grid_of(rows: pl.DataFrame, title: str) -> Grid:
    """Return the table: real differences first, then undecided ones, then those within their threshold."""
    headings = [Heading(name, "number" if name in _NUMBERS else "text") for name in HEADER]
    shown = ordered(rows).head(_MOST_ROWS).iter_rows(named=True)
    cells = [
        [*map(Cell, words[:-1]), Cell(words[-1], verdict="no" if words[-1] == REAL else "")]
        for words in map(in_words, shown)
    ]
    more = rows.height - _MOST_ROWS
    return Grid(
        title, headings, cells, f"and {more} more rows, which --csv writes" if more > 0 else "", keys=_KEYS
    )
