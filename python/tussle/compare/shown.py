"""Differences as they are shown: numbers in words, and tables for notebooks."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import polars as pl

from tussle.compare._rows import NOT_SHOWN, REAL, WITHIN
from tussle.html import table

_BIT_PER_S = "_bit_per_s"
"""End of the names of columns that are shown in Mbit/s."""
_WHOLE_FROM = 9999.5
HEADER = ("point", "flow", "value", "A", "B", "B - A", "95 % interval", "runs", "verdict")


def ordered(rows: pl.DataFrame) -> pl.DataFrame:
    """Return real differences first, then undecided ones, then those within their threshold."""
    rank = pl.col("verdict").replace_strict({REAL: 0, NOT_SHOWN: 1, WITHIN: 2})
    return rows.sort(rank, maintain_order=True)


def in_words(row: Mapping[str, Any]) -> list[str]:
    """Return a row of a comparison in words, a text for each of `HEADER`."""
    scale = 1e-6 if row["column"].endswith(_BIT_PER_S) else 1.0
    first, second, difference = (number(row[name] * scale) for name in ("first", "second", "difference"))
    part = f" ({row['difference'] / abs(row['first']):+.1%})" if row["first"] else ""
    interval = "-"
    if row["low"] is not None:
        interval = f"{number(row['low'] * scale)} to {number(row['high'] * scale)}"
    pairs = "pair" if row["runs"] == 1 else "pairs"
    runs = f"{row['runs']} {pairs if row['paired'] else 'each'}"
    value = row["column"].replace(_BIT_PER_S, ", Mbit/s")
    return [
        row["point"], row["flow"] or "", value, first, second, f"{difference}{part}", interval, runs,
        row["verdict"],
    ]  # fmt: skip


def table_of(rows: pl.DataFrame) -> str:
    """Return the rows of a comparison as a table of HTML."""
    return table(HEADER, map(in_words, ordered(rows).iter_rows(named=True)))


def in_short(rows: pl.DataFrame) -> str:
    """Count the rows of each verdict.

    >>> in_short(pl.DataFrame({"verdict": [REAL, WITHIN, REAL]}))
    '3 differences: 2 real, 1 within threshold'
    """
    counts = {verdict: (rows["verdict"] == verdict).sum() for verdict in (REAL, NOT_SHOWN, WITHIN)}
    found = ", ".join(f"{count} {verdict}" for verdict, count in counts.items() if count)
    return f"{rows.height} differences: {found}"


def number(value: float) -> str:
    """Format a number with four digits, or as a whole number if that has more.

    >>> [number(x) for x in (0.0, 48.25131, -123456.7)]
    ['0', '48.25', '-123457']
    """
    return f"{value:.0f}" if abs(value) >= _WHOLE_FROM else f"{value:.4g}"
