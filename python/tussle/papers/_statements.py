"""The conclusions of a study, checked: whether each holds, fails, or depends on something."""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Literal, NamedTuple

import polars as pl

from tussle.errors import TussleError
from tussle.metrics import Tables, axis_columns
from tussle.papers._compare import Datasets
from tussle.papers._study import Check, Range, Rival, Statement
from tussle.predicates import Quantity, at_values, values

Answer = Literal["holds", "fails", "depends", "not run"]
Averages = Mapping[str, float]
"""Mean values by algorithm."""
Values = Callable[[str, Quantity], pl.DataFrame]
"""Returns `run, flow, value` for a part and a quantity."""


@dataclass(frozen=True)
class Case:
    """One comparison of a check, and its result."""

    part: str
    words: str
    """The quantity compared, and the values of the axes."""
    holds: bool
    evidence: str
    """The numbers."""


@dataclass(frozen=True)
class Checked:
    """Result of a statement on one engine."""

    statement: Statement
    cases: tuple[Case, ...]

    @property
    def words(self) -> str:
        """The answer; the number of cases in which it holds, if it depends."""
        held = sum(case.holds for case in self.cases)
        return f"depends ({held} of {len(self.cases)})" if self.answer == "depends" else self.answer

    @property
    def answer(self) -> Answer:
        """Whether the statement holds in all cases, in none, or in some."""
        if not self.cases:
            return "not run"
        held = [case.holds for case in self.cases]
        return "holds" if all(held) else "depends" if any(held) else "fails"


class _Comparison(NamedTuple):
    """Averages of one comparison, and the values of axes at which it is made."""

    at: dict[str, object]
    """Values of axes."""
    here: Averages
    elsewhere: Averages
    """Averages at the rival's values of axes, if the check has a rival."""


def check(statement: Statement, datasets: Datasets) -> Checked:
    """Check a statement on the results of one engine; incomplete results count as not run."""
    if any(not parts_of(each) <= datasets.keys() for each in statement.checks):
        return Checked(statement, ())
    try:
        cases = [
            cases_of(each, datasets, lambda part, quantity: values(datasets[part], quantity))
            for each in statement.checks
        ]
    except TussleError:
        return Checked(statement, ())
    return Checked(statement, tuple(case for found in cases for case in found) if all(cases) else ())


def parts_of(rule: Check) -> set[str]:
    """Return the parts that a check compares."""
    rival = rule.than.part if isinstance(rule.than, Rival) else None
    return {rule.part, rival or rule.part}


def cases_of(rule: Check, datasets: Datasets, values_of: Values) -> list[Case]:
    """Compare at each combination of the values of the axes that the check names.

    There are no cases if the results lack an axis or an algorithm that the check names, as those of another
    path or of other algorithms do.
    """
    tables = datasets[rule.part]
    table = _by_algorithm(rule, tables, values_of(rule.part, rule.quantity))
    named = {*rule.of, *(rule.than if isinstance(rule.than, tuple) else ())}
    if not named <= set(table["algorithm"]):
        return []
    rival = rule.than.where if isinstance(rule.than, Rival) else {}
    [other] = parts_of(rule) - {rule.part} or {rule.part}
    away = (
        table if other == rule.part else _by_algorithm(rule, datasets[other], values_of(other, rule.quantity))
    )
    if not {*rule.where, *rule.by, *rival} <= {*axis_columns(tables), "repetition"}:
        return []
    here = at_values(table, rule.where)
    parts = here.partition_by(rule.by, maintain_order=True, as_dict=True) if rule.by else {(): here}
    comparisons = []
    for key, part in parts.items():
        single = {axis: value for axis, value in rule.where.items() if isinstance(value, str)}
        at = {**single, **dict(zip(rule.by, key, strict=True))}
        elsewhere = _averages(rule, at_values(away, {**at, **rival})) if isinstance(rule.than, Rival) else {}
        comparisons.append(_Comparison(at, _averages(rule, part), elsewhere))
    return [case for each in comparisons if (case := _case(rule, each))]


def _by_algorithm(rule: Check, tables: Tables, found: pl.DataFrame) -> pl.DataFrame:
    """Return a row for each flow that counts: `algorithm, value`, and the repetition and axes of its run."""
    flows = tables.flows.select("run", "flow", "algorithm").collect()
    chosen = {"each": None, "first": 0, "second": 1}[rule.flow]
    if found["flow"].null_count() == found.height:
        joined = flows.filter(pl.col("flow") == (chosen or 0)).join(found.drop("flow"), on="run")
    else:
        kept = flows if chosen is None else flows.filter(pl.col("flow") == chosen)
        joined = kept.join(found, on=["run", "flow"])
    if rule.pairs != "all":
        kinds = flows.group_by("run").agg((pl.col("algorithm").n_unique() > 1).alias("is_mixed"))
        wanted = pl.col("is_mixed") == (rule.pairs == "mixed")
        joined = joined.join(kinds.filter(wanted), on="run", how="semi")
    runs = tables.runs.select("run", "repetition", *axis_columns(tables)).collect()
    return joined.drop_nulls("value").join(runs, on="run").sort("run", "flow")


def _averages(rule: Check, table: pl.DataFrame) -> Averages:
    value = pl.col("value")
    average = value.mean() if rule.quantile is None else value.quantile(rule.quantile, "linear")
    return dict(table.group_by("algorithm", maintain_order=True).agg(average).iter_rows())


def _case(rule: Check, point: _Comparison) -> Case | None:
    """Compare each algorithm that the check is about; `None` if it has no comparison here."""
    found = [each for name in rule.of if (each := _compared(rule, point, name))]
    if not found:
        return None
    where = ", ".join(f"{axis} = {value}" for axis, value in point.at.items())
    words = f"{rule.words}, {where}" if where else rule.words
    return Case(rule.part, words, all(each.holds for each in found), "; ".join(each.words for each in found))


class _Compared(NamedTuple):
    """One algorithm compared with its rivals."""

    holds: bool
    words: str
    """The number of the algorithm, and that of the strongest rival."""


def _compared(rule: Check, point: _Comparison, name: str) -> _Compared | None:
    if name not in point.here:
        return None
    value = point.here[name]
    within = f" (within a factor of {rule.tolerance:g})" if rule.tolerance > 1 else ""
    if isinstance(rule.than, Range):
        holds = rule.than.least / rule.tolerance <= value <= rule.than.most * rule.tolerance
        return _Compared(holds, f"{name} {value:.4g}, {rule.than.least:g} to {rule.than.most:g}{within}")
    rivals = _rivals(rule, point, name)
    if not rivals:
        return None
    decides, holds = _hardest(rule, value, rivals)
    times = f" times {rule.margin:g}" if rule.margin != 1 else ""
    return _Compared(holds, f"{name} {value:.4g}, {decides} {rivals[decides]:.4g}{times}{within}")


def _hardest(rule: Check, value: float, rivals: Averages) -> tuple[str, bool]:
    """Return the rival that decides, and whether the comparison with it holds."""
    sides = {name: other * rule.margin for name, other in rivals.items()}
    if rule.relation == "within":
        decides = max(sides, key=lambda name: _apart(value, sides[name]))
        return decides, _apart(value, sides[decides]) <= rule.tolerance
    is_more = rule.relation == ">"
    decides = (max if is_more else min)(sides, key=sides.__getitem__)
    return decides, value > sides[decides] if is_more else value < sides[decides]


def _apart(one: float, other: float) -> float:
    """Return the factor between two values: infinite if they differ and one of them is 0 or less."""
    if one == other:
        return 1.0
    return max(one / other, other / one) if min(one, other) > 0 else math.inf


def _rivals(rule: Check, point: _Comparison, name: str) -> Averages:
    """Return the numbers that an algorithm is compared with, by their descriptions."""
    if isinstance(rule.than, Rival):
        where = ", ".join(f"{axis} = {value}" for axis, value in rule.than.where.items())
        words = " ".join(
            [*([rule.than.part] if rule.than.part else []), *([f"with {where}"] if where else [])]
        )
        return {words: point.elsewhere[name]} if name in point.elsewhere else {}
    if isinstance(rule.than, float | int):
        return {"bound": rule.than}
    named = rule.than if isinstance(rule.than, tuple) else ()
    names = named or [each for each in point.here if each not in rule.of]
    return {each: point.here[each] for each in names if each in point.here}
