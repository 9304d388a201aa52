"""Thresholds: the smallest difference that matters."""

from __future__ import annotations

import math
from dataclasses import dataclass

from tussle.errors import TussleError, argument, shown

_EXAMPLE = "write METRIC=AMOUNT, like goodput=2% or jain=0.01"


@dataclass(frozen=True)
class Threshold:
    """A fraction of the first dataset's median, or an amount in the unit of the metric's column."""

    value: float
    is_part: bool

    def amount(self, median: float) -> float:
        """Return the threshold as an amount, for a median of the first dataset.

        >>> Threshold(0.02, is_part=True).amount(-50.0), Threshold(0.02, is_part=False).amount(50.0)
        (1.0, 0.02)
        """
        return abs(median) * self.value if self.is_part else self.value


def threshold(text: str) -> tuple[str, Threshold]:
    """Read `METRIC=AMOUNT`; raises TussleError when it is not that.

    >>> threshold("goodput=2%")
    ('goodput', Threshold(value=0.02, is_part=True))
    """
    metric, equals, amount = (part.strip() for part in text.partition("="))
    is_part = amount.endswith("%")
    try:
        value = float(amount.removesuffix("%"))
    except ValueError:
        value = math.nan
    if not (equals and metric) or not 0 <= value < math.inf:
        raise TussleError(f"{argument('thresholds', option='threshold')} {shown(text)}: {_EXAMPLE}")
    return metric, Threshold(value / 100 if is_part else value, is_part)
