"""The order in which the runs of a plan are executed."""

import random
from collections.abc import Sequence
from typing import Literal, get_args

from tussle.scenario import PlannedRun

Order = Literal["points", "round-robin", "random"]
"""`points`: all repetitions of a point, then the next point. `round-robin`: one repetition of every point,
then the next repetition. `random`: round-robin in random order, by the seed of the repetition.
"""

ORDERS: tuple[str, ...] = get_args(Order)


def ordered(plan: Sequence[PlannedRun], order: Order) -> list[PlannedRun]:
    """Return the runs of a plan in an order, which is reproducible: a sweep can resume with it."""
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
