"""The whole comparison: cells, differences, verdicts."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from typing import Any, NamedTuple, Protocol

import polars as pl

from tussle.agreement._bounds import Verdict, assess, outside, scores
from tussle.agreement._differences import cells, differences
from tussle.metrics import Tables


class Results(Tables, Protocol):
    """A dataset: its tables and their provenance."""

    @property
    def provenance(self) -> Mapping[str, Any]: ...


class Pair(NamedTuple):
    """Results of the same scenario from two engines."""

    tested: Results
    reference: Results
    """Results of the engine that the tested one is compared with."""


@dataclass(frozen=True)
class Agreement:
    """The differences between two engines."""

    pairs: Mapping[str, Pair]
    """Results by the name of the arrangement of flows."""
    cells: pl.DataFrame
    """One row a cell: `arrangement, point, algorithm, rate, rtt, buffer, loss, window_distance,
    own_distance, is_same`."""
    differences: pl.DataFrame
    """One row a cell and quantity: the columns of `cells`, then `quantity, tested, reference,
    reference_spread, difference, low, high, runs`."""

    @cached_property
    def verdicts(self) -> list[Verdict]:
        """The verdict on each bound."""
        return assess(self.differences)

    @property
    def same_cells(self) -> int:
        """The number of cells in which every run delivers and retransmits the same on both engines."""
        return int(self.cells["is_same"].sum())

    @property
    def is_broken(self) -> bool:
        """Whether a bound is exceeded by more than randomness explains."""
        return any(verdict.answer == "no" for verdict in self.verdicts)

    @cached_property
    def outside(self) -> pl.DataFrame:
        """Rows of `differences` that exceed a bound's limit for a cell, with `bound` and `allowed`."""
        return outside(self.differences)

    @cached_property
    def algorithms(self) -> pl.DataFrame:
        """One row an algorithm: `algorithm, cells`, medians without signs, and its `score` in percent.

        The medians are a column for each bound's quantity, `window_distance` and `own_distance`.
        """
        distances = self.cells.group_by("algorithm").agg(
            pl.len().alias("cells"), pl.col("window_distance", "own_distance").median()
        )
        found = distances
        for verdict in self.verdicts:
            bound = verdict.bound
            rows = self.differences.filter(
                pl.col("quantity") == bound.quantity, pl.col("arrangement").is_in(bound.arrangements)
            )
            sizes = rows.group_by("algorithm").agg(pl.col("difference").abs().median().alias(bound.quantity))
            found = found.join(sizes, on="algorithm", how="left")
        return found.join(scores(self.differences), on="algorithm", how="left").sort("algorithm")


def compare(pairs: Mapping[str, Pair]) -> Agreement:
    """Compare the results of two engines; `pairs` has them by the name of their arrangement."""
    found = cells(pairs)
    rows = found.join(differences(pairs), on=["arrangement", "point"], how="inner")
    return Agreement(pairs, found, rows)
