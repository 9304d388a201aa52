"""Several engines of one kind as an axis of a dataset, such as two releases of Linux."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

if TYPE_CHECKING:
    from tussle.engines import Engine

_VARIANT = "variant"
"""The key of a run that names its variant; engines do not see it."""


@dataclass(frozen=True)
class Variants:
    """Engines of one kind that all execute every point of a scenario.

    The methods are those of `Engine`, for runs with a variant chosen by `with_variant`.
    """

    axis: str
    """Name of the axis: the column of the table `runs`, and the option of the command line."""
    engines: "Mapping[str, Engine]"
    """One or more engines, by the values of the axis."""

    @property
    def name(self) -> str:
        """Common name of the engines."""
        return self._first.name

    @property
    def max_parallel_runs(self) -> int | None:
        """Largest number of runs at a time."""
        return self._first.max_parallel_runs

    def with_variant(self, run: Mapping[str, Any], value: str) -> dict[str, Any]:
        """Return a run with a chosen variant."""
        return {**run, _VARIANT: value}

    def about(self) -> Mapping[str, str]:
        """Return facts in common, the names of the variants, and the facts in which they differ.

        The key of a differing fact begins with the variant's name: `linux-6.12 release`.
        """
        facts = {value: engine.about() for value, engine in self.engines.items()}
        keys = dict.fromkeys(key for each in facts.values() for key in each if key != self.axis)
        values = {key: [each.get(key) for each in facts.values()] for key in keys}
        shared = {key: str(found[0]) for key, found in values.items() if len(set(found)) == 1}
        own = {
            f"{value} {key}": fact
            for value, each in facts.items()
            for key, fact in each.items()
            if key in values and key not in shared
        }
        return {**shared, self.axis: ",".join(self.engines), **own}

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when the run's variant cannot honour any part of it."""
        engine, bare = self._split(run)
        engine.check(bare)

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Execute the run on its variant; raises TussleError when the variant cannot honour it, or fails."""
        engine, bare = self._split(run)
        return engine.execute(bare)

    def close(self) -> None:
        """Close the engine of each variant."""
        for engine in self.engines.values():
            engine.close()

    @property
    def _first(self) -> "Engine":
        return next(iter(self.engines.values()))

    def _split(self, run: Mapping[str, Any]) -> "tuple[Engine, dict[str, Any]]":
        """Return the engine of the run's variant, and the run without its variant."""
        bare = {key: value for key, value in run.items() if key != _VARIANT}
        return self.engines[run[_VARIANT]], bare
