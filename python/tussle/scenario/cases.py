"""Cases: points of a scenario that are listed one by one, instead of all combinations of lists."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Annotated, Any

from pydantic import BeforeValidator

from tussle.errors import shown
from tussle.scenario.axes import written
from tussle.scenario.fields import refusal
from tussle.scenario.problems import Problem

_OF_ALL = ("question", "seed", "repetitions", "baseline", "cases")
"""Keys that belong to the scenario as a whole."""


def _settings(value: object) -> object:
    if isinstance(value, Mapping) and not value:
        raise refusal('an empty case; give it a value, like "path.rate" = "10 Mbit/s"')
    return value


Case = Annotated[dict[str, Any], BeforeValidator(_settings)]
"""Values by their dotted keys."""


def misplaced_keys(cases: Sequence[Case]) -> list[Problem]:
    """Find keys that no case can set, and cases with other keys than the first."""
    found = [
        Problem(f"cases.{index}", f"{key} applies to all cases; write it above them")
        for index, case in enumerate(cases)
        for key in case
        if key.partition(".")[0] in _OF_ALL
    ]
    first = set(cases[0])
    for index, case in enumerate(cases):
        if first - set(case):
            missing = shown(min(first - set(case)))
            what = f"lacks {missing}, which the first case sets; give every case the same keys"
            found.append(Problem(f"cases.{index}", what))
        elif set(case) - first:
            surplus = shown(min(set(case) - first))
            what = f"sets {surplus}, which the first case does not; give every case the same keys"
            found.append(Problem(f"cases.{index}", what))
    return found


def case_axes(case: Case) -> dict[str, str]:
    """Return the values of a case, as written and by their keys, as axes of its points."""
    return {key: written(value) for key, value in case.items()}
