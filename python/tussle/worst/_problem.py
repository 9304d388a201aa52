"""The problem of a search: an algorithm, an objective, and the space, as scenarios."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any, TypeAlias

from tussle.catalog import catalog
from tussle.errors import TussleError, unknown
from tussle.own_algorithms import is_own
from tussle.scenario import Scenario
from tussle.worst._objectives import BESIDE, TESTED, Objective
from tussle.worst._space import Settings, Space

Pair: TypeAlias = tuple[str, str | None]
"""The algorithm of the tested flows, and that of those beside them, if there are any."""


@dataclass(frozen=True)
class Problem:
    """The objective of a search, and its space."""

    algorithm: str
    beside: str | None
    """The algorithm of the other flows; `None` if there are none."""
    objective: Objective
    space: Space
    seed: int = 1

    @property
    def question(self) -> str:
        """The question that a found scenario answers, in one line."""
        return self.objective.asks.format(**self._names)

    @property
    def says(self) -> str:
        """The meaning of a bad scenario, in words."""
        return self.objective.says.format(**self._names)

    @property
    def _names(self) -> dict[str, str]:
        x = short(self.algorithm)
        y = short(self.beside) if self.beside else x
        return {"x": x, "y": y, "by": f" beside {x}" if self.beside else ""}

    @property
    def pairs(self) -> list[Pair]:
        """The algorithms of the two flow tables in each run of a scenario; the first pair is the case."""
        pairs = [(self.algorithm, self.beside)]
        if self.objective.relative:
            pairs.append((str(self.beside), self.beside))
        return list(dict.fromkeys(pairs))

    def tables(self, values: Settings, pair: Pair, *, tidy: bool = False) -> dict[str, Any]:
        """Return the tables of a scenario with the algorithms of a pair."""
        tables = self.space.tables(values, tidy=tidy)
        flows = tables.get("flows", [])
        if not isinstance(flows, list):
            raise TussleError(f"{self.space.source}, flows: number the flows, as in flows.0.count")
        wanted = [each for each in pair if each is not None]
        if len(flows) > len(wanted):
            raise TussleError(
                f"{self.space.source}, flows.{len(wanted)}: this search has no such flows; give --victim, or "
                "leave the key out"
            )
        flows = [*flows, *({} for _ in range(len(wanted) - len(flows)))]
        named = zip(wanted, (TESTED, BESIDE), flows, strict=False)
        tables["flows"] = [{"algorithm": name, "name": role, **flow} for name, role, flow in named]
        return tables

    def scenario(self, each: Sequence[Settings], repetitions: int, seed: int) -> Scenario:
        """Return one scenario with a case for each of these places; pairs vary fastest."""
        cases = [
            self.space.scenario_settings(values) | _algorithms(pair) for values in each for pair in self.pairs
        ]
        base = self.tables(self.space.plain(), self.pairs[0])
        settings = {
            "seed": seed,
            "repetitions": repetitions,
            "record": {"samples": "100 ms" if self.objective.series else "off"},
        }
        return self.checked(base | settings | {"cases": cases})

    def checked(self, tables: Mapping[str, Any]) -> Scenario:
        """Return the scenario of tables; raises TussleError that names the space."""
        try:
            return Scenario.from_dict(tables)
        except TussleError as error:
            first = str(error).splitlines()[0].removeprefix("scenario, ")
            raise TussleError(f"{self.space.source}: {first}", error.details) from None

    def check(self) -> None:
        """Raise TussleError when the space has a value at an end of a dimension that no scenario takes."""
        plain = self.space.plain()
        self._check_place(plain, "")
        for dimension in self.space.dimensions:
            for value in dimension.ends():
                self._check_place(plain | {dimension.key: value}, f", {dimension.key}")

    def _check_place(self, values: Settings, where: str) -> None:
        if len(self.checked(self.tables(values, self.pairs[0])).points()) > 1:
            raise TussleError(f"{self.space.source}{where}: a list in a list is an axis; give one value")


def _algorithms(pair: Pair) -> Settings:
    return {f"flows.{index}.algorithm": name for index, name in enumerate(pair) if name is not None}


def check_algorithm(option: str, name: str) -> None:
    """Raise TussleError unless the name is that of an algorithm, or of a class in a Python file."""
    known = catalog().algorithms
    if name not in known and not is_own(name):
        raise TussleError(f"{option}: {unknown('algorithm', name, known)}")


def short(algorithm: str) -> str:
    """Return the name of an algorithm for readers: of a Python file's class, without the folder."""
    return algorithm.rsplit("/", 1)[-1]
