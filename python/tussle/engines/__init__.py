"""Engines: each turns a run into tables. One file an engine, found from the listing of this folder.

An engine's file defines `ENGINE`, an object with the methods of `Engine`.
"""

import pkgutil
from collections.abc import Mapping
from importlib import import_module
from typing import Any, Protocol

import polars as pl

from tussle.engines._variants import Variants
from tussle.errors import TussleError, unknown

__all__ = ["COSTS", "Engine", "Variants", "engine", "names"]

COSTS = "costs"
"""A table that no dataset has, because wall clocks wrote it: what users' own algorithms cost. One row a flow:
`algorithm`, `acks` and the seconds `in_hooks_s`."""


class Engine(Protocol):
    """What every engine can do."""

    @property
    def name(self) -> str:
        """Name of the engine, that of its file."""
        ...

    @property
    def at_once(self) -> int | None:
        """How many runs may be executed at a time; `None`: any number.

        An engine in real time executes one: others beside it would make it late.
        """
        ...

    def about(self) -> Mapping[str, str]:
        """Name and version, and whatever else decides the results."""
        ...

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when the engine cannot honour any part of `run`."""
        ...

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Execute a run: a table for each of `tussle.dataset.ENGINE_TABLES`, without the column `run`.

        An engine that measures real hosts fills those of `OPTIONAL_TABLES` besides. A run with algorithms of
        the user's own may have the table `COSTS`.
        Raises TussleError when the engine cannot honour any part of `run`.
        """
        ...

    def close(self) -> None:
        """Let go of what was opened for runs; it can execute more of them all the same."""
        ...


def names() -> list[str]:
    """Names of all engines, sorted."""
    return sorted(module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_"))


def engine(name: str) -> Engine:
    """Return the engine of that name; raises TussleError, with the nearest name, when there is none."""
    if name not in names():
        raise TussleError(unknown("engine", name, names()))
    return import_module(f"{__name__}.{name}").ENGINE
