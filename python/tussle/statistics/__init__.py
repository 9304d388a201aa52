"""Statistics: the uncertainty of a number, from repetitions with different random seeds.

Medians, quartiles and bootstrap intervals. The data seeds the random number generator of the bootstrap, so
that the same data gives the same interval.
"""

from tussle.statistics._difference import Difference, paired_difference, unpaired_difference
from tussle.statistics._estimate import CONFIDENCE, LEAST, Estimate, estimate, interval_of_median
from tussle.statistics._repetitions import repetitions_are_identical
from tussle.statistics._tables import estimates, pooled_estimates

__all__ = [
    "CONFIDENCE",
    "LEAST",
    "Difference",
    "Estimate",
    "estimate",
    "estimates",
    "interval_of_median",
    "paired_difference",
    "pooled_estimates",
    "repetitions_are_identical",
    "unpaired_difference",
]
