"""The matrix as a table of links: one cell a pair, coloured as in the figure."""

from __future__ import annotations

import re
from dataclasses import dataclass

import polars as pl

from tussle.figures import in_cell, ink_on, share_colour
from tussle.metrics.coexistence import COEXIST
from tussle.report import _answer


@dataclass(frozen=True)
class Pair:
    """One cell."""

    anchor: str
    point: int
    numbers: str
    fill: str
    ink: str
    shares: bool
    said: str
    """The cell in words, for those who hear it."""


@dataclass(frozen=True)
class Matrix:
    """The matrix of one network."""

    network: str
    """The axes' values that set it apart; empty when there is one."""
    answer: str
    columns: list[str]
    rows: list[tuple[str, list[Pair | None]]]


def anchors_of_pairs(cells: pl.DataFrame) -> dict[int, str]:
    """Name the details of each pair, by point: `pair-reno-cubic`, and the point where that is not enough."""
    names = {row["point"]: f"pair-{_slug(row['first'])}-{_slug(row['second'])}" for row in cells.to_dicts()}
    taken: set[str] = set()
    found = {}
    for point, name in names.items():
        found[point] = f"{name}-point-{point}" if name in taken else name
        taken.add(name)
    return found


def matrices(cells: pl.DataFrame, anchors: dict[int, str]) -> list[Matrix]:
    """Make the matrix of each network, in the order of the points."""
    return [_matrix(part, anchors) for part in cells.partition_by("slice", maintain_order=True)]


def _matrix(cells: pl.DataFrame, anchors: dict[int, str]) -> Matrix:
    columns = cells["second"].unique(maintain_order=True).to_list()
    rows = cells["first"].unique(maintain_order=True).to_list()
    found = {(row["first"], row["second"]): _pair(row, anchors) for row in cells.iter_rows(named=True)}
    return Matrix(
        network=cells["slice"][0],
        answer=_answer.of_matrix(cells),
        columns=columns,
        rows=[(first, [found.get((first, second)) for second in columns]) for first in rows],
    )


def _pair(row: dict, anchors: dict[int, str]) -> Pair:
    share = 0.5 if row["share"] is None else row["share"]
    first, second = in_cell(row["first_mbit_per_s"]), in_cell(row["second_mbit_per_s"])
    shares = row["verdict"] == COEXIST
    verdict = "they can share" if shares else "they cannot share"
    return Pair(
        anchor=anchors[row["point"]],
        point=row["point"],
        numbers=f"{first} / {second}",
        fill=share_colour(share),
        ink=ink_on(share_colour(share)),
        shares=shares,
        said=f"{row['first']} first {first}, {row['second']} second {second} Mbit/s: {verdict}",
    )


def _slug(name: str) -> str:
    return re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")
