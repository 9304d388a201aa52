"""Cost of sampling, events and other extras: in time, relative to the bare simulation, and instructions."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from statistics import median
from typing import Any

from cases import CASES, COUNTED, NS, Case
from engines import PYTHON, TUSSLE, MissingError
from instructions import counts_of
from measure import Job, measure

Variant = Callable[[Case], Case]
CHECKS_PER_RUN = 3
"""Times that a run checks its invariants: both ends of the steady interval, and the end of the run."""


def sampled(case: Case) -> Case:
    """Return the case with a sample of all flows and links every 10 ms."""
    return replace(case, sampling={"every_ns": 10_000_000})


def eventful(case: Case) -> Case:
    """Return the case with its events recorded."""
    return replace(case, events=True)


VARIANTS: dict[str, Variant] = {"samples each 10 ms": sampled, "events": eventful}


def rows(rounds: int) -> list[dict[str, Any]]:
    """Measure the cost of each extra, for one flow and for ten, in percent of the case without it.

    Times are compared within a round, where both meet the same load.
    """
    found: list[dict[str, Any]] = []
    for timed, counted in zip(CASES[:2], COUNTED[:2], strict=True):
        jobs = {extra: Job(TUSSLE.find(), vary(timed).run_json()) for extra, vary in VARIANTS.items()}
        jobs |= _from_python(timed)
        plain = Job(TUSSLE.find(), timed.run_json())
        percents: dict[str, list[float]] = {extra: [] for extra in jobs}
        for _ in range(rounds):
            reference_s = measure(plain).cpu_s
            for extra, job in jobs.items():
                percents[extra].append(_more_percent(measure(job).cpu_s, reference_s))
        instructions = _instructions(counted)
        found.extend(
            {
                "case": counted.name,
                "extra": extra,
                "time_percent": median(percents[extra]) if extra in percents else None,
                "instructions_percent": instructions.get(extra),
            }
            for extra in dict.fromkeys([*jobs, *instructions])
        )
    return found


def _from_python(case: Case) -> dict[str, Job]:
    try:
        return {"called from Python, tables as Arrow": Job(PYTHON.find(), case.run_json())}
    except MissingError:
        return {}


def _instructions(case: Case) -> dict[str, float]:
    varied = {extra: replace(vary(case), name=f"{case.name}, {extra}") for extra, vary in VARIANTS.items()}
    # If the steady interval ends just before the run, the invariants are checked once more.
    extra_check = replace(case, name=f"{case.name}, one check more", steady_to_s=case.duration_s - 1 / NS)
    counted = counts_of([case, *varied.values(), extra_check])
    counts = {name: each.instructions for name, each in counted.items()}
    if not counts:
        return {}
    plain = counts[case.name]
    more = {extra: _more_percent(counts[each.name], plain) for extra, each in varied.items()}
    check = counts[extra_check.name] - plain
    return more | {"checks of all invariants": 100 * CHECKS_PER_RUN * check / plain}


def _more_percent(value: float, reference: float) -> float:
    return 100 * (value / reference - 1)
