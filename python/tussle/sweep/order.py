"""In which order the runs of a plan are executed."""

import random
from collections.abc import Sequence
from typing import Literal, get_args

from tussle.scenario import PlannedRun

Order = Literal["points", "round-robin", "random"]
"""All repetitions of one point after another; every point in turn, then all again; or the same, but each turn
shuffled, by the seed of its repetition."""

ORDERS: tuple[str, ...] = get_args(Order)


def ordered(plan: Sequence[PlannedRun], order: Order) -> list[PlannedRun]:
    """Return the runs of a plan in that order, which is the same each time: a sweep can go on with it."""
    if order == "points":
        return list(plan)
    in_turn = sorted(plan, key=lambda planned: (planned.repetition, planned.point))
    if order == "round-robin":
        return in_turn
    turns: dict[int, list[PlannedRun]] = {}
    for planned in in_turn:
        turns.setdefault(planned.repetition, []).append(planned)
    for turn in turns.values():
        random.Random(turn[0].seed).shuffle(turn)  # noqa: S311 (no secret)
    return [planned for turn in turns.values() for planned in turn]
