"""The runs of a sweep: those of the scenario, on each variant of the engine."""

from dataclasses import replace

from tussle.engines import Engine, Variants
from tussle.errors import TussleError, argument
from tussle.scenario import PlannedRun, Scenario
from tussle.scenario.axes import MOST_RUNS


def runs_of(scenario: Scenario, engine: Engine) -> list[PlannedRun]:
    """Return every run of a scenario; for an engine with variants, every run on each of them.

    The variant is the axis that varies fastest. A repetition has the same seed on all variants, so that they
    can be compared pairwise. Raises TussleError when there are too many runs.
    """
    plan = scenario.runs()
    if not isinstance(engine, Variants):
        return plan
    values = list(engine.engines)
    if len(plan) * len(values) > MOST_RUNS:
        raise TussleError(
            f"{argument(engine.axis)}: {len(plan)} runs on each of {len(values)} are more than {MOST_RUNS}; "
            "give fewer, or shorten a list of the scenario"
        )
    repetitions = 1 + max(planned.repetition for planned in plan)
    found = []
    for planned in plan:
        for place, value in enumerate(values):
            point = planned.point * len(values) + place
            found.append(
                replace(
                    planned,
                    index=point * repetitions + planned.repetition,
                    point=point,
                    axes={**planned.axes, engine.axis: value},
                    run=engine.with_variant(planned.run, value),
                )
            )
    return sorted(found, key=lambda planned: planned.index)
