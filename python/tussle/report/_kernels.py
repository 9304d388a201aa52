"""Differences between the kernels of a dataset: sentences, and a table with every result."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

import polars as pl

from tussle.compare import NOT_SHOWN, REAL, WITHIN, Comparison, Question, along
from tussle.dataset import KERNEL_AXIS
from tussle.metrics import Tables, axis_columns
from tussle.report._tables import Cell, Heading, Table, exact, number
from tussle.statistics import LEAST

_MOST_FLOWS = 40
"""Largest number of flows in a run whose results are compared one by one; for more, their sum is compared."""
_TOO_FEW = "too few runs"
_WORDS = {REAL: "changed", NOT_SHOWN: "no change shown", WITHIN: "the same"}
_ALGORITHM = re.compile(r"flows\.\d+\.algorithm = ")
"""The key before each algorithm in the name of a point; a column of pairs leaves it out."""
_QUANTITIES = {
    "goodput_bit_per_s": ("goodput, Mbit/s", 1e-6),
    "total_goodput_bit_per_s": ("goodput of all flows, Mbit/s", 1e-6),
    "jain_index": ("Jain index", 1.0),
}
"""Columns of metrics, with their names on the page and the factor to that unit."""


@dataclass(frozen=True)
class Change:
    """One kernel compared with the first."""

    title: str
    answer: str
    table: Table


def changes(tables: Tables) -> list[Change]:
    """Compare each further kernel with the first; empty if one kernel executed all runs."""
    if KERNEL_AXIS not in axis_columns(tables):
        return []
    found = along(tables, KERNEL_AXIS, Question(_metrics(tables)))
    return [
        Change(f"From {found.first} to {value}", answer(each.rows), _table(each, (found.first, value)))
        for value, each in found.others.items()
    ]


def slices_in_words(tables: Tables) -> str:
    """Return the plural for the matrices of a dataset of pairs: networks, kernels, or both."""
    others = [axis for axis in axis_columns(tables) if not axis.endswith(".algorithm")]
    if KERNEL_AXIS not in others:
        return "networks"
    return "kernels" if len(others) == 1 else "combinations of a network and a kernel"


def _metrics(tables: Tables) -> list[str]:
    flows = tables.flows.select(pl.col("flow").max() + 1).collect().item()
    return ["total" if flows > _MOST_FLOWS else "goodput", *(["jain"] if flows > 1 else [])]


def answer(rows: pl.DataFrame) -> str:
    """Return how many results changed beyond noise, how many did not, and how many are undecided."""
    verdicts = [_verdict(row) for row in rows.iter_rows(named=True)]
    counts = {word: verdicts.count(word) for word in (*_WORDS.values(), _TOO_FEW)}
    several = len(verdicts) > 1
    all_of_them = f"Of {len(verdicts)} result{'s' if several else ''}"
    if counts["the same"] == len(verdicts):
        return f"All {len(verdicts)} results are the same." if several else "The only result is the same."
    if counts[_TOO_FEW] and not counts["changed"] + counts["no change shown"]:
        runs = rows["runs"].min()
        return (
            f"{all_of_them}, {counts[_TOO_FEW]} differ and {counts['the same'] or 'none'} are the same. "
            "Whether the differences are more than noise is undecided: "
            f"that needs {LEAST} repetitions or more, and there {'is 1' if runs == 1 else f'are {runs}'}."
        )
    parts = [
        f"{counts['changed'] or 'none'} changed beyond noise",
        *_counted(counts["no change shown"], "differ by no more than noise"),
        *_counted(counts["the same"], "are the same"),
        *_counted(counts[_TOO_FEW], "differ, with too few runs for a verdict"),
    ]
    return f"{all_of_them}, {'; '.join(parts)}."


def _counted(count: int, words: str) -> list[str]:
    return [f"{count} {words}"] if count else []


def _verdict(row: Mapping[str, Any]) -> str:
    if row["verdict"] == NOT_SHOWN and row["low"] is None:
        return _TOO_FEW
    if row["verdict"] == WITHIN and row["low"] != row["high"]:
        return _WORDS[NOT_SHOWN]  # runs differ in either direction, and the median difference is 0
    return _WORDS[row["verdict"]]


def _table(comparison: Comparison, kernels: Sequence[str]) -> Table:
    """Return a table of every result: changed ones first, by the size of the change."""
    headings = [
        *(Heading(text, is_text=True) for text in ("Verdict", "Point", "Flow", "Result")),
        *(Heading(kernel) for kernel in kernels),
        Heading("Difference"),
        Heading("Change", "%"),
        Heading("95\u00a0% interval", is_text=True),
    ]
    rank = pl.col("verdict").replace_strict({REAL: 0, NOT_SHOWN: 1, WITHIN: 2}, return_dtype=pl.Int8)
    part = (pl.col("difference") / pl.col("first")).abs()
    rows = comparison.rows.sort(rank, part, descending=[False, True], nulls_last=True, maintain_order=True)
    return Table(headings, [_row(row) for row in rows.iter_rows(named=True)])


def _row(row: Mapping[str, Any]) -> list[Cell]:
    words, scale = _QUANTITIES[row["column"]]
    point = _ALGORITHM.sub("", row["point"])
    texts = [_verdict(row), point, row["flow"] or "all", words]
    numbers = [row[column] * scale for column in ("first", "second", "difference")]
    change = 100 * row["difference"] / abs(row["first"]) if row["first"] else None
    interval = "none"
    if row["low"] is not None:
        interval = f"{number(row['low'] * scale)} to {number(row['high'] * scale)}"
    return [
        *(Cell(text, text) for text in texts),
        *(Cell(number(value), exact(value)) for value in numbers),
        Cell("none", float("-inf")) if change is None else Cell(f"{change:+.1f}", exact(change)),
        Cell(interval, interval),
    ]
