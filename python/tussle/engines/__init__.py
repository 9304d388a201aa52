"""Engines: each executes runs and returns tables. Engines are found by their files in this folder.

An engine's file defines `ENGINE`, an object with the methods of `Engine`.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol, runtime_checkable

import polars as pl

from tussle.engines._variants import Variants
from tussle.errors import TussleError, unknown

__all__ = ["COSTS", "Engine", "Variants", "engine", "names"]

COSTS = "costs"
"""A table that is not part of datasets, since wall clocks measure it: the costs of users' own algorithms. One
row per flow: `algorithm`, `acks` and the seconds `in_hooks_s`.
"""


@runtime_checkable
class Engine(Protocol):
    """Methods of every engine."""

    @property
    def name(self) -> str:
        """Name of the engine, that of its file."""
        ...

    @property
    def max_parallel_runs(self) -> int | None:
        """Largest number of runs at a time; `None`: any number.

        An engine in real time executes one run at a time: others would delay it.
        """
        ...

    def about(self) -> Mapping[str, str]:
        """Return name and version, and all other facts that decide the results."""
        ...

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when the engine cannot honour any part of `run`."""
        ...

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Execute a run: a table for each of `tussle.dataset.ENGINE_TABLES`, without the column `run`.

        An engine that measures real hosts also fills those of `OPTIONAL_TABLES`. A run with users' own
        algorithms may have the table `COSTS`. Raises TussleError when the engine cannot honour any part of
        `run`.
        """
        ...

    def close(self) -> None:
        """Close what was opened for runs; the engine can execute more runs afterwards."""
        ...


def names() -> list[str]:
    """Names of all engines, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def engine(name: str) -> Engine:
    """Return the engine with a name; raises TussleError, with the nearest name, when there is none."""
    if name not in names():
        raise TussleError(unknown("engine", name, names()))
    return import_module(f"{__name__}.{name}").ENGINE
