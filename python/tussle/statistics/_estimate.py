"""Estimates of a median, with their confidence intervals."""

from __future__ import annotations

import hashlib
from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

CONFIDENCE = 0.95
"""Probability that an interval contains the true median."""
LEAST = 6
"""Least number of values for an interval.

The true median lies between the least and the largest of n values with probability 1 - 2^(1-n). No bootstrap
interval of a median is wider than that; with five values it would contain the median in 94 % of cases.
"""

_RESAMPLES = 9999


@dataclass(frozen=True)
class Estimate:
    """The median of some values, their quartiles, and the confidence interval of the true median."""

    count: int
    median: float
    q1: float
    q3: float
    low: float | None
    """Lower end of the 95 % interval; `None` with fewer than `LEAST` values."""
    high: float | None


def estimate(values: Sequence[float]) -> Estimate:
    """Estimate the median of the distribution of the values; quartiles by linear interpolation.

    The interval is the percentile bootstrap of the median (Efron and Tibshirani, An introduction to the
    bootstrap, 1993, section 13.3). Raises ValueError when there are no values.

    >>> estimate([10, 20, 30, 50])
    Estimate(count=4, median=25.0, q1=17.5, q3=35.0, low=None, high=None)
    """
    if not values:
        raise ValueError("there are no values to estimate from")
    q1, median, q3 = (float(each) for each in np.quantile(np.asarray(values, dtype=float), (0.25, 0.5, 0.75)))
    low, high = interval_of_median(values)
    return Estimate(len(values), median, q1, q3, low, high)


def interval_of_median(values: Sequence[float]) -> tuple[float, float] | tuple[None, None]:
    """Return the 95 % interval of the median, or `None` twice if the values are too few for one."""
    if len(values) < LEAST:
        return None, None
    return bootstrap_interval([np.asarray(values, dtype=float)])


def bootstrap_interval(samples: Sequence[np.ndarray]) -> tuple[float, float]:
    """Return the 95 % interval of a sample's median, or of the second median minus the first."""
    # SciPy takes longer to load than everything else, and few commands need it.
    from scipy.stats import bootstrap

    if all(np.ptp(sample) == 0 for sample in samples):
        exact = float(_statistic(*samples))
        return exact, exact
    found = bootstrap(
        samples,
        _statistic,
        n_resamples=_RESAMPLES,
        confidence_level=CONFIDENCE,
        method="percentile",
        vectorized=True,
        rng=np.random.default_rng(_seed(samples)),
    ).confidence_interval
    return float(found.low), float(found.high)


def _statistic(first: np.ndarray, *second: np.ndarray, axis: int = -1) -> np.ndarray:
    medians = [np.median(sample, axis=axis) for sample in (first, *second)]
    return medians[1] - medians[0] if second else medians[0]


def _seed(samples: Sequence[np.ndarray]) -> int:
    hashing = hashlib.blake2b(digest_size=8)
    for sample in samples:
        hashing.update(sample.astype("<f8").tobytes())
    return int.from_bytes(hashing.digest(), "big")
