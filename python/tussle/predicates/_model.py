"""The fields that all predicates have."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict, Field


class Strict(BaseModel):
    """A table of a data file, which rejects unknown keys."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Quantity(Strict):
    """A number computed from a dataset: a column of a metric, in the unit that the reader sees."""

    metric: str = "goodput"
    """Name of a metric of runs or of flows, as `tussle list metrics` shows it."""
    column: str | None = None
    """Column of the metric; by default the first."""
    scale: float = 1.0
    """Factor from the metric's unit to the printed one."""
    over: Literal["steady", "life"] | tuple[float, float] = "steady"
    """Interval of a goodput: steady, each flow's lifetime, or between two times in seconds."""


class Predicate(Strict):
    """A comparison of a quantity with a bound or with other results."""

    words: str
    """Name of the compared quantity in the evidence: "share (%)"."""
    quantity: Quantity
    margin: float = 1.0
    """Factor of the other side: 1.1 with ">" requires 10 % more."""
    where: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Values of axes that the comparison is limited to."""
