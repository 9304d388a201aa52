"""Whether two flows can share the bottleneck."""

from __future__ import annotations

from tussle.metrics._metric import Metric
from tussle.metrics._verdicts import COEXIST, DEPENDS, DO_NOT, THRESHOLD, verdicts

__all__ = ["COEXIST", "DEPENDS", "DO_NOT", "METRIC", "THRESHOLD"]

METRIC = Metric(
    name="coexistence",
    unit="verdict",
    definition=f"Two flows co-exist when the smaller of their shares is at least {THRESHOLD} (the median "
    "over the repetitions of min(x1, x2) / (x1 + x2)). Where the verdict is not the same for both orders "
    "of start, it depends on the order.",
    source="fitted to the verdicts of the study that asked the question: 45/58 Mbit/s co-exist, 41/62 do not",
    better="neither",
    per=("point",),
    compute=verdicts,
)
