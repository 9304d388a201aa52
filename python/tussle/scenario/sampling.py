"""Random numbers for the conversion of scenarios to runs: whole numbers that depend on a label alone.

Logarithms are those of `decimal`, which rounds equally on all platforms.
"""

import hashlib
from decimal import Context, Decimal

from tussle.scenario.distributions import Distribution

_BITS = 53
_CONTEXT = Context(prec=30)


def random_bits(label: str) -> int:
    """Return 53 random bits that depend on the label alone; a 64-bit float represents them exactly."""
    digest = hashlib.blake2b(label.encode(), digest_size=8).digest()
    return int.from_bytes(digest, "big") >> (64 - _BITS)


def sample(distribution: Distribution, label: str) -> int:
    """Return a sample of a distribution, rounded to a whole number and at least 0."""
    first, *others = (Decimal(amount) for amount in distribution.amounts)
    match distribution.kind:
        case "uniform":
            value = first + (others[0] - first) * _part(label)
        case "normal":
            value = first + others[0] * _standard_normal(label)
        case "exponential":
            value = -first * _part(label).ln(_CONTEXT)
        case "pareto":
            value = first * (-_part(label).ln(_CONTEXT) / Decimal(distribution.shape)).exp(_CONTEXT)
        case "quantiles":
            place = _part(label) * len(others)
            below = min(int(place), len(others) - 1)
            low, high = distribution.amounts[below : below + 2]
            value = low + (high - low) * (place - below)
        case _:
            value = first
    return max(0, round(value))


def _part(label: str) -> Decimal:
    """Return a random number above 0 and at most 1."""
    return Decimal(random_bits(label) + 1) / (1 << _BITS)


def _standard_normal(label: str) -> Decimal:
    """Mean 0, deviation 1. Source: G. Marsaglia and T. A. Bray, SIAM Review 6(3), 1964 (the polar method)."""
    attempt = 0
    while True:
        x, y = (2 * _part(f"{label}/{attempt}/{name}") - 1 for name in "xy")
        square = x * x + y * y
        if 0 < square < 1:
            return x * (-2 * square.ln(_CONTEXT) / square).sqrt(_CONTEXT)
        attempt += 1
