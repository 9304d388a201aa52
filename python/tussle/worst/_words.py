"""Sentences about a result, for the terminal and the page."""

from __future__ import annotations

from tussle.figures import percent
from tussle.statistics import Estimate
from tussle.worst._result import Result

_LITTLE = 0.1
"""A badness below which the algorithm is said to do well, in objectives from 0 to 1."""


def value_words(value: float, unit: str) -> str:
    """Format a badness."""
    return f"{value:.2f}" if unit == "1" else f"{value:.3g} {unit}"


def estimate_words(found: Estimate, unit: str) -> str:
    """Format the median of repetitions, with its interval if there is one."""
    words = value_words(found.median, unit)
    if found.low is None or found.high is None:
        return words
    return f"{words} ({value_words(found.low, unit)} to {value_words(found.high, unit)})"


def summary(result: Result) -> list[str]:
    """Return the answer, sentence by sentence."""
    unit, name = result.problem.objective.unit, result.problem.objective.quantity
    case = result.case
    found = f"{name} {value_words(case.median, unit)}"
    if case.low is not None and case.high is not None:
        found += f" (95 % interval {value_words(case.low, unit)} to {value_words(case.high, unit)}"
        found += f", {case.count} other seeds)"
    opening = f"{result.problem.says[0].upper()}{result.problem.says[1:]}: {found}."
    if case.median <= _LITTLE:
        opening = f"No bad case was found; the worst one has {found}."
    sentences = [opening, rarity_words(result)]
    matters = [f"{row.key} = {row.simplest}" for row in result.rows if row.matters]
    if matters:
        sentences.append(f"It needs {', '.join(matters)}; all other settings have plain values.")
    else:
        sentences.append("It needs nothing unusual: the plain scenario shows it.")
    others = [f"{each.label} {value_words(each.badness.median, unit)}" for each in result.compared[1:]]
    if others:
        sentences.append(f"In the same case: {', '.join(others)}.")
    for each in result.checked:
        if each.problem:
            sentences.append(f"The engine {each.engine} could not execute it: {each.problem}.")
        else:
            values = ", ".join(value_words(value, unit) for value in each.values)
            sentences.append(f"On the engine {each.engine}: {values}.")
    return sentences


def rarity_words(result: Result) -> str:
    """Return how rare the case is."""
    rarity = result.rarity
    return (
        f"{rarity.as_bad} of {rarity.of} random scenarios of the space are as bad: {percent(rarity.share)} "
        f"(95 % interval {percent(rarity.low)} to {percent(rarity.high)})."
    )
