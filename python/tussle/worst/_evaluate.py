"""Evaluation of scenarios by sweeps, with a journal from which an interrupted search resumes."""

from __future__ import annotations

import json
import shutil
import time
from collections.abc import Callable, Sequence
from concurrent.futures import Executor
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl

from tussle.dataset import Dataset
from tussle.engines import Engine, engine
from tussle.errors import TussleError
from tussle.sweep import Silent, SweepSettings, sweep
from tussle.worst._journal import Found, append_journal, read_journal
from tussle.worst._problem import Pair, Problem
from tussle.worst._space import Settings

_BATCH = "batch"
_REPETITIONS, _REACHED = 5, 4
_DIGITS = 9
"""Digits of a badness behind the point: the last ones of a floating-point sum differ between processors."""


@dataclass(frozen=True)
class Execution:
    """Where runs are executed; nothing here changes results of the engine."""

    engine: Engine = field(default_factory=lambda: engine("sim"))
    workers: int | None = None
    cluster: str | None = None
    executor: Executor | None = None
    """Worker processes that live as long as the search."""
    advance: Callable[[], None] = lambda: None
    """Called after each run."""
    tell: Callable[[str], object] = lambda _: None
    """Called with what a sweep waits for."""

    def sweep(self, engine: Engine | None = None) -> SweepSettings:
        """Return the settings of a sweep, on another engine if one is given."""
        chosen = engine or self.engine
        executor = self.executor if chosen.max_parallel_runs is None and self.cluster is None else None
        return SweepSettings(
            workers=None if self.cluster else self.workers,
            engine=chosen,
            cluster=self.cluster,
            executor=executor,
            progress=_Runs(self.advance, self.tell),
        )


@dataclass(frozen=True)
class _Runs(Silent):
    """Progress of a sweep within a search, which has its own total."""

    on_run: Callable[[], None]
    tell: Callable[[str], object]

    def wait(self, text: str) -> None:
        self.tell(text)

    def begin(self, total: int, finished: int) -> None:  # noqa: ARG002 (the search knows the total)
        for _ in range(finished):
            self.on_run()

    def advance(self) -> None:
        self.on_run()


@dataclass
class Evaluator:
    """Evaluates scenarios, and writes down what each gave."""

    problem: Problem
    execution: Execution
    folder: Path
    runs: int = 0
    """Number of runs so far. Those of the journal count when the repeated search comes to them."""
    took_s: float = 0.0
    """Time that these runs took."""
    _known: dict[str, Found] = field(default_factory=dict)
    _counted: set[str] = field(default_factory=set)

    def __post_init__(self) -> None:
        self._known = read_journal(self.folder)

    def values(self, each: Sequence[Settings], repetitions: int, seed: int) -> list[list[float]]:
        """Return the badness in every repetition of each scenario, in their order."""
        keys = [_key(settings, repetitions, seed) for settings in each]
        new = {key: settings for key, settings in zip(keys, each, strict=True) if key not in self._known}
        if new:
            self._execute(new, repetitions, seed)
        for key in dict.fromkeys(keys):
            if key not in self._counted:
                self._counted.add(key)
                self.runs += self._known[key].runs
                self.took_s += self._known[key].took_s
        return [[value for value in self._known[key].values if value is not None] for key in keys]

    def once(self, each: Sequence[Settings], seed: int) -> list[float]:
        """Return the badness of each scenario in one repetition; minus infinity where it is unknown."""
        return [values[0] if values else float("-inf") for values in self.values(each, 1, seed)]

    def reliable(self, each: Sequence[Settings], seed: int) -> list[float]:
        """Return the badness that four of five repetitions of each scenario reach.

        A scenario that is bad with every second seed would pass by its median too often, when many are tried.
        Minus infinity where fewer than four could be measured.
        """
        found = self.values(each, _REPETITIONS, seed)
        return [sorted(values)[-_REACHED] if len(values) >= _REACHED else float("-inf") for values in found]

    def _execute(self, new: dict[str, Settings], repetitions: int, seed: int) -> None:
        began = time.perf_counter()
        scenario = self.problem.scenario(list(new.values()), repetitions, seed)
        place = self.folder / _BATCH
        shutil.rmtree(place, ignore_errors=True)
        dataset = sweep(scenario, place, self.execution.sweep())
        badness = badness_by_pair(self.problem, dataset, self.problem.pairs)
        shutil.rmtree(place)
        runs, took_s = repetitions * len(self.problem.pairs), (time.perf_counter() - began) / len(new)
        found = {
            key: Found(list(pairs[0].values()), runs, took_s) for key, pairs in zip(new, badness, strict=True)
        }
        append_journal(self.folder, found)
        self._known |= found


def badness_by_pair(
    problem: Problem, dataset: Dataset, pairs: Sequence[Pair]
) -> list[list[dict[int, float | None]]]:
    """Return the badness of each scenario with each pair, by repetition; `None` where it is unknown."""
    points = _values_of_points(problem, dataset)
    scenarios = [
        [points[start + index] for index in range(len(pairs))] for start in range(0, len(points), len(pairs))
    ]
    if not problem.objective.relative:
        return scenarios
    own = pairs.index(problem.pairs[-1])
    return [
        [{at: _lost(value, each[own][at]) for at, value in values.items()} for values in each]
        for each in scenarios
    ]


def _values_of_points(problem: Problem, dataset: Dataset) -> dict[int, dict[int, float | None]]:
    found = (
        dataset.runs.select("run", "point", "repetition")
        .collect()
        .join(problem.objective.compute(dataset), on="run", how="left")
        .with_columns(pl.col("value").fill_nan(None))
        .sort("point", "repetition")
    )
    points: dict[int, dict[int, float | None]] = {}
    for point, repetition, value in found.select("point", "repetition", "value").iter_rows():
        points.setdefault(point, {})[repetition] = None if value is None else round(value, _DIGITS)
    return points


def _lost(value: float | None, whole: float | None) -> float | None:
    return round(1 - value / whole, _DIGITS) if value is not None and whole else None


def _key(settings: Settings, repetitions: int, seed: int) -> str:
    return json.dumps([settings, repetitions, seed], separators=(",", ":"), sort_keys=True)


def refuse_engine(problem: Problem, chosen: Engine) -> None:
    """Raise TussleError when the engine cannot execute the plain scenario."""
    for planned in problem.scenario([problem.space.plain()], 1, problem.seed).runs():
        try:
            chosen.check(planned.run)
        except TussleError as error:
            raise TussleError(f"the engine {chosen.name}: {error}", error.details) from error
