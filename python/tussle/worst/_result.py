"""Results of a search, as files and for the page."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import asdict, dataclass

import polars as pl

from tussle.statistics import Estimate
from tussle.worst._optimiser import Trial
from tussle.worst._problem import Problem

CASE = "case"
"""The dataset of the case, with the tested algorithm, Reno and CUBIC."""
PAGE = "index.html"


@dataclass(frozen=True)
class Compared:
    """The badness of the same case with other algorithms, over repetitions with other seeds."""

    label: str
    algorithms: tuple[str, ...]
    badness: Estimate
    point: int


@dataclass(frozen=True)
class Checked:
    """The badness of the case on another engine."""

    engine: str
    values: tuple[float, ...]
    problem: str = ""
    """The reason why the engine could not execute the case."""


@dataclass(frozen=True)
class Rarity:
    """The share of random scenarios that are as bad, with its 95 % interval (Clopper and Pearson, 1934)."""

    as_bad: int
    of: int
    low: float
    high: float

    @property
    def share(self) -> float:
        """The share, 0 to 1."""
        return self.as_bad / self.of


@dataclass(frozen=True)
class Row:
    """A dimension of the case."""

    key: str
    space: str
    plain: str
    found: str
    simplest: str
    matters: bool
    """Whether shrinking could not set the dimension back."""


@dataclass(frozen=True)
class Result:
    """All that a search found."""

    problem: Problem
    budget: str
    engine: str
    search_runs: int
    runs_to_find: int
    runs_after: int
    trials: tuple[Trial, ...]
    found_badness: float
    """Median badness of the found scenario, before shrinking."""
    rows: tuple[Row, ...]
    compared: tuple[Compared, ...]
    """The tested algorithm first."""
    rarity: Rarity
    checked: tuple[Checked, ...]
    scenario_toml: str
    found_toml: str
    command: str

    @property
    def case(self) -> Estimate:
        """The badness of the case over repetitions with other seeds."""
        return self.compared[0].badness

    def facts(self) -> dict[str, object]:
        """Return the content of `result.json`: everything but the trials, which are a table."""
        return {
            "algorithm": self.problem.algorithm,
            "beside": self.problem.beside,
            "objective": self.problem.objective.name,
            "unit": self.problem.objective.unit,
            "question": self.problem.question,
            "seed": self.problem.seed,
            "budget": self.budget,
            "engine": self.engine,
            "space": self.problem.space.source,
            "search_runs": self.search_runs,
            "scenarios": len(self.trials),
            "runs_to_find": self.runs_to_find,
            "runs_after_the_search": self.runs_after,
            "found_badness": self.found_badness,
            "dimensions": [asdict(row) for row in self.rows],
            "compared": [asdict(each) for each in self.compared],
            "rarity": asdict(self.rarity) | {"share": self.rarity.share},
            "checked": [asdict(each) for each in self.checked],
            "command": self.command,
        }

    def to_json(self) -> str:
        """Return the content of `result.json`."""
        return json.dumps(self.facts(), indent=2) + "\n"


def trials_csv(trials: Sequence[Trial]) -> str:
    """Return every scenario that the search tried, in order."""
    rows = [
        {"scenario": index, "stage": each.stage, "badness": each.badness}
        | {key: str(value) for key, value in each.settings.items()}
        for index, each in enumerate(trials)
    ]
    return pl.DataFrame(rows).write_csv()
