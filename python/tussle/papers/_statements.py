"""The conclusions of a study, checked: whether each holds, fails, or depends on something."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from tussle.errors import TussleError
from tussle.metrics import Tables, axis_columns
from tussle.papers._compare import Datasets
from tussle.papers._study import Check, Rival, Statement
from tussle.papers._values import at_values, values

Answer = Literal["holds", "fails", "depends", "not run"]
Means = Mapping[str, float]
"""By algorithm."""


@dataclass(frozen=True)
class Case:
    """One comparison of a check, and how it came out."""

    part: str
    words: str
    """What is compared, and where."""
    holds: bool
    evidence: str
    """The numbers."""


@dataclass(frozen=True)
class Checked:
    """What came out for a statement on one engine."""

    statement: Statement
    cases: tuple[Case, ...]

    @property
    def answer(self) -> Answer:
        """Whether it holds in all cases, in none, or in some."""
        if not self.cases:
            return "not run"
        held = [case.holds for case in self.cases]
        return "holds" if all(held) else "depends" if any(held) else "fails"


class _Place(NamedTuple):
    """Where a comparison is made."""

    at: dict[str, object]
    """Values of axes."""
    here: Means
    elsewhere: Means
    """Where the rival is, if the check has one."""


def check(statement: Statement, datasets: Datasets) -> Checked:
    """Check a statement on the results of one engine; half of its evidence is none."""
    if any(each.part not in datasets for each in statement.checks):
        return Checked(statement, ())
    try:
        cases = [_cases(each, datasets[each.part]) for each in statement.checks]
    except TussleError:
        return Checked(statement, ())
    return Checked(statement, tuple(case for found in cases for case in found) if all(cases) else ())


def _cases(told: Check, tables: Tables) -> list[Case]:
    """Compare at each combination of the values of the axes that the check names.

    There are no cases where the results have no such axes, or lack an algorithm that the check names: they
    are of another path, or of others.
    """
    table = _by_algorithm(told, tables)
    named = {*told.of, *(told.than if isinstance(told.than, tuple) else ())}
    if not named <= set(table["algorithm"]):
        return []
    rival = told.than.where if isinstance(told.than, Rival) else {}
    if not {*told.where, *told.by, *rival} <= {*axis_columns(tables), "repetition"}:
        return []
    here = at_values(table, told.where)
    parts = here.partition_by(told.by, maintain_order=True, as_dict=True) if told.by else {(): here}
    places = []
    for key, part in parts.items():
        single = {axis: value for axis, value in told.where.items() if isinstance(value, str)}
        at = {**single, **dict(zip(told.by, key, strict=True))}
        places.append(_Place(at, _means(part), _means(at_values(table, {**at, **rival})) if rival else {}))
    return [case for place in places if (case := _case(told, place))]


def _by_algorithm(told: Check, tables: Tables) -> pl.DataFrame:
    """Give one row a flow that counts: `algorithm, value`, and the repetition and axes of its run."""
    found = values(tables, told.quantity)
    flows = tables.flows.select("run", "flow", "algorithm").collect()
    chosen = {"each": None, "first": 0, "second": 1}[told.flow]
    if found["flow"].null_count() == found.height:
        joined = flows.filter(pl.col("flow") == (chosen or 0)).join(found.drop("flow"), on="run")
    else:
        kept = flows if chosen is None else flows.filter(pl.col("flow") == chosen)
        joined = kept.join(found, on=["run", "flow"])
    if told.pairs != "all":
        kinds = flows.group_by("run").agg((pl.col("algorithm").n_unique() > 1).alias("is_mixed"))
        wanted = pl.col("is_mixed") == (told.pairs == "mixed")
        joined = joined.join(kinds.filter(wanted), on="run", how="semi")
    runs = tables.runs.select("run", "repetition", *axis_columns(tables)).collect()
    return joined.drop_nulls("value").join(runs, on="run").sort("run", "flow")


def _means(table: pl.DataFrame) -> Means:
    return dict(table.group_by("algorithm", maintain_order=True).agg(pl.col("value").mean()).iter_rows())


def _case(told: Check, place: _Place) -> Case | None:
    """Compare each algorithm that the check is about; `None` if it says nothing here."""
    found = [each for name in told.of if (each := _compared(told, place, name))]
    if not found:
        return None
    where = ", ".join(f"{axis} = {value}" for axis, value in place.at.items())
    words = f"{told.words}, {where}" if where else told.words
    return Case(told.part, words, all(each.holds for each in found), "; ".join(each.words for each in found))


class _Compared(NamedTuple):
    """One algorithm beside its rivals."""

    holds: bool
    words: str
    """Its number, and that of the rival that comes nearest, or is furthest beyond."""


def _compared(told: Check, place: _Place, name: str) -> _Compared | None:
    rivals = _rivals(told, place, name)
    if name not in place.here or not rivals:
        return None
    value, is_more = place.here[name], told.relation == ">"
    strongest = (max if is_more else min)(rivals, key=rivals.__getitem__)
    other = rivals[strongest]
    holds = value > other * told.margin if is_more else value < other * told.margin
    times = f" times {told.margin:g}" if told.margin != 1 else ""
    return _Compared(holds, f"{name} {value:.4g}, {strongest} {other:.4g}{times}")


def _rivals(told: Check, place: _Place, name: str) -> Means:
    """Return what an algorithm is held against, by the words for it."""
    if isinstance(told.than, Rival):
        there = ", ".join(f"{axis} = {value}" for axis, value in told.than.where.items())
        return {f"with {there}": place.elsewhere[name]} if name in place.elsewhere else {}
    if isinstance(told.than, float | int):
        return {"bound": told.than}
    names = told.than or [each for each in place.here if each not in told.of]
    return {each: place.here[each] for each in names if each in place.here}
