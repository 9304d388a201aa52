"""The difference between two sets of repetitions, with its confidence interval."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from tussle.statistics._estimate import LEAST, bootstrap_interval, interval_of_median


@dataclass(frozen=True)
class Difference:
    """The difference of two sets of values: second minus first."""

    first: float
    """Median of the first."""
    second: float
    """Median of the second."""
    difference: float
    low: float | None
    """Lower end of the 95 % interval of the difference; `None` with fewer than `LEAST` runs."""
    high: float | None
    runs: int
    """Number of pairs, or the smaller number of values."""
    is_paired: bool


def paired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compare values that belong together pair by pair: the median of the differences, and its interval.

    Randomness that two runs of one seed have in common, such as start times, does not widen the interval.

    >>> paired_difference([10, 20, 60], [11, 22, 61]).difference
    1.0
    """
    differences = [b - a for a, b in zip(first, second, strict=True)]
    low, high = interval_of_median(differences)
    medians = _median(first), _median(second), _median(differences)
    return Difference(*medians, low, high, len(differences), is_paired=True)


def unpaired_difference(first: Sequence[float], second: Sequence[float]) -> Difference:
    """Compare values that do not belong together: the difference of their medians, and its interval."""
    runs = min(len(first), len(second))
    low, high = None, None
    if runs >= LEAST:
        low, high = bootstrap_interval([np.asarray(each, dtype=float) for each in (first, second)])
    medians = _median(first), _median(second)
    return Difference(*medians, medians[1] - medians[0], low, high, runs, is_paired=False)


def _median(values: Sequence[float]) -> float:
    return float(np.median(np.asarray(values, dtype=float)))
