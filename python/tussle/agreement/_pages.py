"""HTML pages of a comparison: one for all, and one for each algorithm, without scripts or network."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl

from tussle.agreement._bounds import BOUNDED
from tussle.agreement._cells import ARRANGEMENTS, ONE_WITHOUT_LOSS, arrangement_of
from tussle.agreement._compare import Agreement
from tussle.agreement._quantities import QUANTITIES
from tussle.agreement._words import amount, number, signed
from tussle.errors import TussleError
from tussle.figures import Beside, View, draw, svg
from tussle.pages import environment

_WORDS = {
    name: arrangement_of(name).words for name in (*(each.name for each in ARRANGEMENTS), ONE_WITHOUT_LOSS)
}
_CHARTS = View(width_px=430, most_rows=120)
_COORDINATES = re.compile(r' (?:d|transform)="[^"]*"')
_LONG_DECIMALS = re.compile(r"(\d+\.\d)\d+")
_GROUPS = {
    "alone": ("one", ONE_WITHOUT_LOSS),
    "in pairs": ("two", "joins-reno", "joins-cubic"),
}
"""Arrangements whose windows are shown. Windows of more flows do not fit a page."""


@dataclass(frozen=True)
class About:
    """The origin of the pages."""

    command: str
    date: str
    """The day, as 2026-11-20."""
    engines: tuple[str, str]
    """Names of the tested engine and of the reference."""


class _Shown(NamedTuple):
    """A cell whose windows are shown, a row of the cells, and the reason for the choice."""

    cell: dict[str, Any]
    why: str


@dataclass(frozen=True)
class Chart:
    """One cell's curves."""

    caption: str
    svg: str


def write(agreement: Agreement, folder: Path, about: About) -> Path:
    """Write `index.html`, `ALGORITHM.html` for each algorithm, and `differences.csv`; return the first.

    Raises TussleError when a file cannot be written.
    """
    pages = {"index.html": _index(agreement, about)}
    pages |= {f"{name}.html": _page(agreement, about, name) for name in agreement.algorithms["algorithm"]}
    try:
        save_differences(agreement, folder)
        for name, text in pages.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise TussleError(f"cannot write {folder}: {error.strerror}; give another folder (-o)") from error
    return folder / "index.html"


def save_differences(agreement: Agreement, folder: Path) -> Path:
    """Write every difference into `differences.csv`; return its path."""
    path = folder / "differences.csv"
    folder.mkdir(parents=True, exist_ok=True)
    agreement.differences.with_columns(pl.col(pl.Float64).round_sig_figs(6)).write_csv(path)
    return path


def _index(agreement: Agreement, about: About) -> str:
    return _rendered(
        "index.html",
        about=about,
        answer=_answer(agreement),
        verdicts=agreement.verdicts,
        bounds=[verdict.bound for verdict in agreement.verdicts],
        algorithms=agreement.algorithms.to_dicts(),
        bounded=BOUNDED,
        outside=agreement.outside.to_dicts(),
        quantities=QUANTITIES,
        cells=agreement.cells.height,
        same_cells=agreement.same_cells,
        runs=_runs(agreement),
        provenance=_provenance(agreement),
    )


def _answer(agreement: Agreement) -> str:
    words = {
        answer: [verdict.bound.words for verdict in agreement.verdicts if verdict.answer == answer]
        for answer in ("no", "undecided")
    }
    over = f"over {agreement.cells.height} cells"
    if words["no"]:
        return f"Not everywhere: {over}, the bound is broken for {', '.join(words['no'])}."
    if words["undecided"]:
        undecided = ", ".join(words["undecided"])
        return f"Yes, {over}, within the precision of the runs: {undecided} may differ more."
    return f"Yes, within every bound, {over}."


def _runs(agreement: Agreement) -> int:
    return sum(pair.reference.runs.select(pl.len()).collect().item() for pair in agreement.pairs.values())


def _provenance(agreement: Agreement) -> list[tuple[str, Mapping[str, str]]]:
    first = next(iter(agreement.pairs.values()))
    return [(each.provenance["engine"]["name"], each.provenance["engine"]) for each in first]


def _page(agreement: Agreement, about: About, algorithm: str) -> str:
    cells = agreement.cells.filter(pl.col("algorithm") == algorithm)
    rows = agreement.differences.filter(pl.col("algorithm") == algorithm)
    found = {(row["arrangement"], row["point"], row["quantity"]): row for row in rows.iter_rows(named=True)}
    return _rendered(
        "algorithm.html",
        about=about,
        algorithm=algorithm,
        summary=agreement.algorithms.filter(pl.col("algorithm") == algorithm).to_dicts()[0],
        bounds=[verdict.bound for verdict in agreement.verdicts],
        charts=[_chart(agreement, about, shown) for shown in _shown(cells)],
        cells=cells.to_dicts(),
        found=found,
        quantities=QUANTITIES,
    )


def _shown(cells: pl.DataFrame) -> Sequence[_Shown]:
    """Choose the cells shown: of single flows and of pairs, the median one and the one that differs most."""
    chosen = []
    for group, arrangements in _GROUPS.items():
        of_group = cells.filter(
            pl.col("arrangement").is_in(arrangements), pl.col("window_distance").is_not_null()
        )
        ranked = of_group.sort("window_distance", "arrangement", "point").to_dicts()
        if ranked:
            chosen.append(_Shown(ranked[(len(ranked) - 1) // 2], f"{group}, the cell in the middle"))
        if len(ranked) > 1:
            chosen.append(_Shown(ranked[-1], f"{group}, the cell where the windows differ most"))
    return chosen


def _chart(agreement: Agreement, about: About, shown: _Shown) -> Chart:
    cell, why = shown
    pair = agreement.pairs[cell["arrangement"]]
    tested, reference = about.engines
    view = View(
        point=cell["point"],
        width_px=_CHARTS.width_px,
        most_rows=_CHARTS.most_rows,
        beside=Beside(pair.reference, reference, tested),
    )
    drawn = _COORDINATES.sub(_shortened, svg(draw("overlay", pair.tested, view)))
    where = (
        f"{_WORDS[cell['arrangement']]}, {cell['rate']}, {cell['rtt']}, {cell['buffer']}, loss {cell['loss']}"
    )
    apart = f"distance of the windows {number(cell['window_distance'])}"
    itself = (
        "" if cell["own_distance"] is None else f", of {reference}'s own runs {number(cell['own_distance'])}"
    )
    return Chart(f"{why[0].upper()}{why[1:]}: {where}; {apart}{itself}.", drawn)


def _shortened(coordinates: re.Match[str]) -> str:
    """Round coordinates to a tenth of a pixel, which makes a page smaller by a third."""
    return _LONG_DECIMALS.sub(r"\1", coordinates.group())


def _rendered(template: str, **values: object) -> str:
    templates = environment("tussle.agreement")
    templates.filters |= {"number": number}
    words = {"amount": amount, "signed": signed, "arrangements": _WORDS}
    return templates.get_template(template).render(**values, **words)
