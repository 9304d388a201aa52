"""The optimiser: random places, then ends of dimensions, then CMA-ES from the worst of them, with restarts.

A case that one setting makes bad is rarely met at random, where the other settings hide it: a little loss
keeps windows so small that no start and no buffer matters. So the second stage leaves the plain scenario in
one dimension at a time.

Hansen, The CMA evolution strategy: a tutorial, arXiv:1604.00772; the package `cma` is by its author.
"""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field
from typing import Any

import numpy as np

from tussle.worst._space import Settings, Space

BATCH = 16
"""Scenarios that are evaluated together. A fixed number, so that any number of workers finds the same."""
_RANDOM_PART = 3
"""One part of the budget in this many is random scenarios: a start, and a measure of the case's rarity."""
_ENDS_UNTIL = 2 / 3
"""Part of the budget after which no further dimension is moved to an end."""
_STEP = 0.25
"""Initial standard deviation of CMA-ES, where each dimension has the length 1."""
_PATIENCE = 5
"""Generations without a worse scenario until CMA-ES restarts elsewhere."""
_MOST_WITHOUT_NEW = 20
"""Batches without a new scenario after which the space counts as exhausted."""
_ENOUGH = 1e-9


@dataclass(frozen=True)
class Trial:
    """A scenario of the search with its badness."""

    stage: str
    """`random`, `ends` or `optimiser`."""
    settings: Settings
    badness: float
    runs: int
    """Number of runs of the search until this scenario was evaluated."""


@dataclass
class Optimiser:
    """A search in a space."""

    space: Space
    seed: int
    evaluate: Callable[[Sequence[Settings]], list[float]]
    """Returns the badness of scenarios."""
    spent: Callable[[], float]
    """Part of the budget that is spent."""
    room: Callable[[], int]
    """Number of runs that may follow."""
    count: Callable[[], int]
    """Number of runs so far."""
    cost: int = 1
    """Number of runs of a scenario."""
    trials: list[Trial] = field(default_factory=list)
    _places: dict[int, np.ndarray] = field(default_factory=dict)
    """The place of each random trial and of each at the ends, by its index."""

    def search(self) -> list[Trial]:
        """Spend the budget; returns every scenario that was tried, in order, each once."""
        rng = np.random.default_rng(self.seed)
        if self._sample(rng) and self._move_to_ends():
            self._climb(rng)
        return self.trials

    def _sample(self, rng: np.random.Generator) -> bool:
        """Evaluate random places; returns whether any budget is left."""
        while len(self.trials) < BATCH or self.spent() < 1 / _RANDOM_PART:
            before = len(self.trials)
            if self._remembered("random", rng.random((BATCH, len(self.space.dimensions)))) is None:
                return False
            if self.room() <= 0 or len(self.trials) == before:
                break
        return True

    def _move_to_ends(self) -> bool:
        """Move the plain scenario to the worst end of any dimension, then of another, while it gets worse.

        Returns whether any budget is left.
        """
        at = np.array([each.place(each.plain) for each in self.space.dimensions])
        reached = -np.inf
        while self.spent() < _ENDS_UNTIL:
            moved = [at]
            for index, dimension in enumerate(self.space.dimensions):
                for end in dimension.ends():
                    moved.append(at.copy())
                    moved[-1][index] = dimension.place(end)
            found = self._remembered("ends", np.array(moved))
            if found is None:
                return False
            worst = int(np.argmax(found))
            if found[worst] <= reached + _ENOUGH:
                break
            at, reached = moved[worst], found[worst]
        return True

    def _climb(self, rng: np.random.Generator) -> None:
        """Run CMA-ES from one place after another, until the budget or the space is exhausted."""
        without_new = 0
        for number, start in enumerate(self._starts(rng)):
            before = len(self.trials)
            if not self._improve(start, np.random.default_rng([self.seed, number])):
                return
            without_new = 0 if len(self.trials) > before else without_new + 1
            if without_new >= _MOST_WITHOUT_NEW:
                return

    def _remembered(self, stage: str, places: np.ndarray) -> list[float] | None:
        """Evaluate the scenarios at places that CMA-ES may start from; `None` if the budget ends."""
        before = len(self.trials)
        found = self._tell(stage, places)
        for index in range(before, len(self.trials)):
            wanted = self.trials[index].settings
            self._places[index] = next(place for place in places if self.space.at(place) == wanted)
        return found

    def _starts(self, rng: np.random.Generator) -> Iterator[np.ndarray]:
        """Yield places to start from: the worst known ones first, then random ones."""
        ranked = sorted(self._places, key=lambda index: (-self.trials[index].badness, index))
        for index in ranked[: max(1, len(ranked) // 4)]:
            yield self._places[index]
        while True:
            yield rng.random(len(self.space.dimensions))

    def _improve(self, start: np.ndarray, rng: np.random.Generator) -> bool:
        """Run CMA-ES until it makes no progress; returns whether any budget is left."""
        # CMA-ES needs two dimensions; a second one that does nothing is harmless.
        padded = np.append(start, 0.5) if len(start) == 1 else start
        options = {
            "bounds": [0, 1],
            "popsize": BATCH,
            "seed": float("nan"),
            "randn": lambda *shape: rng.standard_normal(shape),
            "verbose": -9,
        }
        evolution = _cma().CMAEvolutionStrategy(list(padded), _STEP, options)
        best, since = -np.inf, 0
        while since < _PATIENCE and not evolution.stop():
            asked = evolution.ask()
            badness = self._tell("optimiser", np.asarray(asked)[:, : len(start)])
            if badness is None or self.room() <= 0:
                return False
            evolution.tell(asked, [-value if np.isfinite(value) else 1e9 for value in badness])
            since = 0 if max(badness) > best + _ENOUGH else since + 1
            best = max(best, *badness)
        return True

    def _tell(self, stage: str, places: np.ndarray) -> list[float] | None:
        """Evaluate the scenarios at places; `None` if the budget does not suffice for all of them."""
        each = [self.space.at(place) for place in places]
        known = {_text(trial.settings): trial.badness for trial in self.trials}
        new = {_text(one): one for one in each if _text(one) not in known}
        chosen = self._affordable(new)
        if chosen:
            found = self.evaluate(list(chosen.values()))
            runs = self.count()
            for (text, settings), badness in zip(chosen.items(), found, strict=True):
                self.trials.append(Trial(stage, settings, badness, runs))
                known[text] = badness
        if len(chosen) < len(new):
            return None
        return [known[_text(one)] for one in each]

    def _affordable(self, new: dict[str, Settings]) -> dict[str, Settings]:
        """Return the first ones that the budget suffices for; at least one in a whole search."""
        count = max(self.room() // self.cost, 0 if self.trials else 1)
        return dict(list(new.items())[:count])


def _text(settings: Settings) -> str:
    return repr(sorted(settings.items()))


def _cma() -> Any:
    """Import the package, which warns where it finds no matplotlib."""
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        import cma
    return cma


def worst_of(trials: Sequence[Trial], count: int) -> list[Trial]:
    """Return the worst trials, the worst one first; of equally bad ones, the earlier."""
    known = [each for each in trials if np.isfinite(each.badness)]
    return sorted(known, key=lambda trial: -trial.badness)[:count]
