"""Definition of a metric, and the tables that it reads."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Literal, Protocol

import polars as pl

from tussle.html import table


class Tables(Protocol):
    """The tables of a dataset, or of a part of one; they are equal only if they are the same object."""

    @property
    def runs(self) -> pl.LazyFrame: ...
    @property
    def flows(self) -> pl.LazyFrame: ...
    @property
    def samples(self) -> pl.LazyFrame: ...
    @property
    def links(self) -> pl.LazyFrame: ...
    @property
    def events(self) -> pl.LazyFrame: ...


@dataclass(frozen=True)
class Metric:
    """A quantity that can be computed from the tables of any engine."""

    name: str
    """The name of its file, of its entry in the registry and on the command line."""
    unit: str
    """The unit of its values; `1` for a ratio."""
    definition: str
    """The definition, with its formula."""
    source: str
    """The source of the definition."""
    better: Literal["higher", "lower", "neither"]
    """The direction that users want."""
    per: tuple[str, ...]
    """The columns that identify a row of its table, e.g. `("run", "flow")`."""
    compute: Callable[[Tables], pl.DataFrame]
    """Computes the table: the columns of `per`, then the values, sorted by `per`."""

    def __call__(self, tables: Tables) -> pl.DataFrame:
        """Compute the table of a dataset, or of a part of one."""
        return self.compute(tables)

    def __repr__(self) -> str:
        return f"<Metric {self.name} ({self.unit}) per {', '.join(self.per)}>"

    def _repr_html_(self) -> str:
        facts = [("definition", self.definition), ("source", self.source), ("unit", self.unit)]
        return table([self.name, ""], [*facts, ("better", self.better), ("per", ", ".join(self.per))])
