"""The costs of users' own algorithms, by the wall clock; never part of results."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import polars as pl

from tussle.engines import COSTS


@dataclass(frozen=True)
class Cost:
    """Time that an algorithm took for a number of ACKs."""

    algorithm: str
    acks: int
    in_hooks_s: float

    def sentence(self) -> str:
        """Return the cost per ACK, as a line for the terminal."""
        an_ack_us = self.in_hooks_s / self.acks * 1e6 if self.acks else 0.0
        return f"python algorithm {self.algorithm}: {an_ack_us:.2g} µs per ACK"


def costs_of(tables: Mapping[str, pl.DataFrame]) -> tuple[Cost, ...]:
    """Return the costs of each flow, as measured by the engine."""
    return tuple(Cost(**row) for row in tables[COSTS].to_dicts()) if COSTS in tables else ()


def added(costs: Iterable[Cost]) -> list[Cost]:
    """Return one cost for each algorithm, sorted by its name."""
    sums: dict[str, Cost] = {}
    for cost in costs:
        before = sums.get(cost.algorithm, Cost(cost.algorithm, 0, 0.0))
        sums[cost.algorithm] = Cost(
            cost.algorithm, before.acks + cost.acks, before.in_hooks_s + cost.in_hooks_s
        )
    return [sums[name] for name in sorted(sums)]
