"""What costs more than the bare simulation: ratios within a round, and instructions."""

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
EDGES_OF_A_RUN = 3
"""The invariants are checked at the ends of the steady interval and of the run."""


def sampled(case: Case) -> Case:
    """Let the case write down all flows and links each 10 ms."""
    return replace(case, sampling={"every_ns": 10_000_000})


def eventful(case: Case) -> Case:
    """Let the case write down its events."""
    return replace(case, events=True)


VARIANTS: dict[str, Variant] = {"samples each 10 ms": sampled, "events": eventful}


def rows(rounds: int) -> list[dict[str, Any]]:
    """Measure, for one flow and for ten, what each extra adds, in percent of the case without it."""
    found: list[dict[str, Any]] = []
    for timed, counted in zip(CASES[:2], COUNTED[:2], strict=True):
        jobs = {what: Job(TUSSLE.find(), vary(timed).run_json()) for what, vary in VARIANTS.items()}
        jobs |= _from_python(timed)
        plain = Job(TUSSLE.find(), timed.run_json())
        percents: dict[str, list[float]] = {what: [] for what in jobs}
        for _ in range(rounds):
            reference_s = measure(plain).cpu_s
            for what, job in jobs.items():
                percents[what].append(_more_percent(measure(job).cpu_s, reference_s))
        instructions = _instructions(counted)
        found.extend(
            {
                "case": counted.name,
                "extra": what,
                "time_percent": median(percents[what]) if what in percents else None,
                "instructions_percent": instructions.get(what),
            }
            for what in dict.fromkeys([*jobs, *instructions])
        )
    return found


def _from_python(case: Case) -> dict[str, Job]:
    try:
        return {"called from Python, tables as Arrow": Job(PYTHON.find(), case.run_json())}
    except MissingError:
        return {}


def _instructions(case: Case) -> dict[str, float]:
    varied = {what: replace(vary(case), name=f"{case.name}, {what}") for what, vary in VARIANTS.items()}
    # An interval that ends just before the run does is one edge more, at which the same is checked again.
    edge = replace(case, name=f"{case.name}, one edge more", steady_to_s=case.duration_s - 1 / NS)
    counts = {name: each.instructions for name, each in counts_of([case, *varied.values(), edge]).items()}
    if not counts:
        return {}
    plain = counts[case.name]
    more = {what: _more_percent(counts[each.name], plain) for what, each in varied.items()}
    return more | {"checks of all invariants": 100 * EDGES_OF_A_RUN * (counts[edge.name] - plain) / plain}


def _more_percent(value: float, reference: float) -> float:
    return 100 * (value / reference - 1)
