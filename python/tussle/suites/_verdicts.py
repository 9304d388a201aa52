"""Verdicts: each claim at each point of its test, by the interval of the distance to its limit."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple

import polars as pl

from tussle.errors import TussleError
from tussle.metrics import Tables, axis_columns
from tussle.predicates import at_values, values
from tussle.statistics import LEAST, interval_of_median
from tussle.suites._result import CaseResult, CriterionResult, Number, Verdict
from tussle.suites._suite import Claim, Criterion, Suite

CANDIDATE = "candidate"
_OF = "value of "
"""Beginning of the columns of rivals."""
_OWN = "Tussle's own: the document gives none"
_RANKS: dict[str, int] = {"pass": 0, "look": 1, "fail": 2}
_DIGITS = 6
"""Significant digits of the numbers in results."""

Datasets = Mapping[str, Mapping[str, Tables]]
"""Datasets by test, then by contender."""


def decide(
    suite: Suite, datasets: Datasets, refused: Mapping[str, str], alias: str | None = None
) -> list[CriterionResult]:
    """Return the verdict on each criterion.

    `refused` has the tests that the engine cannot run, with its reasons; `alias` is the reference that the
    candidate itself is.
    """
    context = _Context(suite, datasets, refused, alias)
    return [_criterion(criterion, context) for criterion in suite.criteria]


@dataclass(frozen=True)
class _Context:
    suite: Suite
    datasets: Datasets
    refused: Mapping[str, str]
    alias: str | None

    def table(self, claim: Claim, test: str, contender: str) -> pl.DataFrame:
        """Return the value of each repetition of each point: the axes, `repetition` and `value`."""
        chosen = CANDIDATE if contender == self.alias else contender
        return _of_runs(claim, self.datasets[test][chosen])


def _criterion(criterion: Criterion, context: _Context) -> CriterionResult:
    cases: list[CaseResult] = []
    reasons = [criterion.not_testable] if criterion.not_testable else []
    for claim in criterion.claims:
        missing = [test for test in (claim.test, claim.against) if test and test in context.refused]
        if missing:
            reasons += [f"{test}: {context.refused[test]}" for test in missing]
        else:
            cases += _cases(claim, context)
    verdict, why = _verdict(criterion, cases, reasons)
    return CriterionResult(
        name=criterion.name,
        section=criterion.section,
        strength=criterion.strength,
        says=criterion.says,
        verdict=verdict,
        why=why,
        threshold=(criterion.threshold or _OWN) if criterion.claims else "",
        limits="; ".join(dict.fromkeys(reasons)) if cases else "",
        cases=tuple(cases),
    )


def _verdict(criterion: Criterion, cases: list[CaseResult], reasons: list[str]) -> tuple[Verdict, str]:
    if not cases:
        if criterion.not_applicable:
            return "not applicable", criterion.not_applicable
        return "not testable here", "; ".join(dict.fromkeys(reasons))
    verdict: Verdict = max((case.verdict for case in cases), key=lambda each: _RANKS[each])
    among = [case for case in cases if case.verdict == verdict]
    worst = min(among, key=_relative_distance)
    count = f"{len(among)} of {len(cases)} cases" if verdict != "pass" else "nearest to its limit"
    return verdict, f"{count}: {case_words(worst)}"


def _relative_distance(case: CaseResult) -> float:
    """Return the distance to the limit as a fraction of it, negative where the claim does not hold."""
    if case.value is None or case.limit is None:
        return float("-inf")
    distance = case.limit - case.value.median if case.relation == "<" else case.value.median - case.limit
    return distance / max(abs(case.limit), 1e-9)


def case_words(case: CaseResult) -> str:
    """Describe a case in one line: the quantity, the point, the value and its limit."""
    point = f" ({case.where})" if case.where else ""
    if case.value is None or case.limit is None:
        return f"{case.words}{point}: no value"
    relation = "at most" if case.relation == "<" else "at least"
    unsure = ""
    if case.verdict == "look":
        is_few = case.distance_low is None or case.distance_high is None
        interval = f"{case.distance_low:.2g} to {case.distance_high:.2g}" if not is_few else ""
        unsure = "; too few runs" if is_few else f"; the distance may be {interval}"
    return f"{case.words}{point}: {case.value.median:.3g}, {relation} {case.limit:.3g}{unsure}"


def point_words(point: Mapping[str, str], words: Mapping[str, str]) -> str:
    """Describe a point: "rtt 40 ms, beside reno"."""
    named = {key: words.get(key, key.removeprefix("path.")) for key in point}
    return ", ".join(f"{named[key]} {value}" for key, value in point.items() if named[key])


def _cases(claim: Claim, context: _Context) -> list[CaseResult]:
    own = at_values(context.table(claim, claim.test, CANDIDATE), claim.where)
    axes = [name for name in own.columns if name not in ("repetition", "value", "point")]
    shown = {name: context.table(claim, claim.test, name) for name in context.suite.references}
    rivals = shown
    if claim.against is not None:
        rivals = {claim.against: context.table(claim, claim.against, CANDIDATE)}
    varied = [axis for axis in axes if own[axis].n_unique() > 1]
    found = []
    for key, group in own.group_by(["point", *axes], maintain_order=True):
        at = dict(zip(axes, key[1:], strict=True))
        names = _rivals(claim, at, rivals)
        joined = group.select("repetition", "value")
        for name in names:
            other = _at(rivals[name], at).select("repetition", pl.col("value").alias(_OF + name))
            joined = joined.join(other, on="repetition", how="left")
        references = {name: _numbers(_at(table, at)["value"]) for name, table in shown.items()}
        point = {axis: str(at[axis]) for axis in varied}
        found.append(
            _case(
                claim,
                point,
                point_words(point, context.suite.tests[claim.test].words),
                _Compared(joined, names, {name: each for name, each in references.items() if each}),
            )
        )
    return found


def _rivals(claim: Claim, at: Mapping[str, object], references: Iterable[str]) -> list[str]:
    """Return the contenders, or the other test, whose values give the limit at a point."""
    if claim.against is not None:
        return [claim.against]
    if claim.reference == "any":
        return [*references]
    name = at[claim.victim] if claim.victim is not None else claim.reference
    return [str(name)] if name is not None else []


def _at(table: pl.DataFrame, at: Mapping[str, object]) -> pl.DataFrame:
    """Keep the rows with these values of the axes that the table has."""
    return at_values(table, {axis: value for axis, value in at.items() if axis in table.columns})


class _Compared(NamedTuple):
    """The repetitions of a point."""

    joined: pl.DataFrame
    """`repetition, value`, and a column for each rival."""
    rivals: list[str]
    """Contenders, or another test, whose values give the limit."""
    references: dict[str, Number]


def _case(claim: Claim, point: dict[str, str], where: str, compared: _Compared) -> CaseResult:
    rows = compared.joined.with_columns(_limit(claim, compared.rivals).alias("limit"))
    rows = rows.drop_nulls(["value", "limit"])
    sign = 1.0 if claim.relation == "<" else -1.0
    distances = (sign * (rows["limit"] - rows["value"])).to_list()
    low, high = interval_of_median(distances)
    limit = rows["limit"].median()
    return CaseResult(
        test=claim.test,
        words=claim.words,
        point=point,
        where=where,
        verdict=_of_interval(low, high),
        relation=claim.relation,
        value=_numbers(rows["value"]),
        limit=_rounded(float(limit)) if isinstance(limit, float | int) else None,
        limit_words=limit_words(claim, compared.rivals),
        distance_low=_rounded(low),
        distance_high=_rounded(high),
        references=compared.references,
    )


def _limit(claim: Claim, rivals: list[str]) -> pl.Expr:
    """Return the limit of each repetition; null where no rival has a value and there is no bound."""
    columns = [pl.col(_OF + name) * claim.margin for name in rivals]
    bound = pl.lit(claim.bound, pl.Float64)
    if claim.relation == "<":
        return pl.max_horizontal(bound, *(each + claim.slack for each in columns))
    return pl.min_horizontal(bound, *(each - claim.slack for each in columns))


def limit_words(claim: Claim, rivals: list[str]) -> str:
    """Describe the limit: "at most 0.01, or 2 times that of cubic"."""
    words = "at most" if claim.relation == "<" else "at least"
    parts = [f"{claim.bound:g}"] if claim.bound is not None else []
    if rivals:
        times = f"{claim.margin:g} times " if claim.margin != 1 else ""
        sign = "+" if claim.relation == "<" else "-"
        slack = f" {sign} {claim.slack:g}" if claim.slack else ""
        whose = (
            f"its own value in the test {rivals[0]}" if claim.against else f"that of {' or '.join(rivals)}"
        )
        parts.append(f"{times}{whose}{slack}")
    whichever = ", whichever is more lenient" if len(parts) + len(rivals) > 2 else ""  # noqa: PLR2004 (a bound or rivals)
    return f"{words} {', or '.join(parts)}{whichever}"


def _of_interval(low: float | None, high: float | None) -> Verdict:
    """Return the verdict of an interval of distances, which are positive where the claim holds."""
    if low is None or high is None:
        return "look"
    if low >= 0:
        return "pass"
    return "fail" if high < 0 else "look"


def _numbers(series: pl.Series) -> Number | None:
    found = series.drop_nulls().to_list()
    if not found:
        return None
    low, high = interval_of_median(found)
    median = float(pl.Series(found).median())  # pyright: ignore[reportArgumentType]
    return Number(median=_exact(median), low=_rounded(low), high=_rounded(high), runs=len(found))


def _exact(value: float) -> float:
    return float(f"{value:.{_DIGITS}g}")


def _rounded(value: float | None) -> float | None:
    return None if value is None else _exact(value)


def _of_runs(claim: Claim, tables: Tables) -> pl.DataFrame:
    """Return the value of each run: its axes, `point`, `repetition`, `value`."""
    axes = axis_columns(tables)
    runs = tables.runs.select("run", "point", "repetition", *axes).collect()
    try:
        found = values(tables, claim.quantity)
    except TussleError:
        # No run has the quantity, such as a completion time when no transfer ends.
        found = pl.DataFrame(schema={"run": pl.UInt32, "flow": pl.UInt32, "value": pl.Float64})
    if claim.flows and found["flow"].null_count() < found.height:
        names = tables.flows.select("run", "flow", "name").collect()
        kept = names.filter(pl.col("name").str.starts_with(claim.flows)).drop("name")
        found = found.join(kept, on=["run", "flow"])
    if claim.missing is not None:
        found = found.with_columns(pl.col("value").fill_null(claim.missing).fill_nan(claim.missing))
    value = pl.col("value")
    combined = {
        "mean": value.mean(),
        "min": value.min(),
        "max": value.max(),
        "sum": value.sum(),
        "p95": value.quantile(0.95, "linear"),
    }[claim.combine]
    joined = runs.join(found.group_by("run").agg(combined), on="run", how="left")
    if claim.missing is not None:
        joined = joined.with_columns(pl.col("value").fill_null(claim.missing))
    return joined.sort("run").drop("run")


FEWEST = LEAST
"""Fewest repetitions with which a case can pass or fail."""
