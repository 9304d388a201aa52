"""Verdicts on pairs: both sides share the bottleneck fairly, or they do not."""

from __future__ import annotations

from tussle.metrics._metric import Metric
from tussle.metrics._verdicts import (
    DEPENDS,
    DRIFT,
    MARGIN,
    NO,
    NOT_CONVERGED,
    SPREAD,
    THRESHOLD,
    TOO_FEW,
    UNCLEAR,
    YES,
    verdicts,
)

__all__ = [
    "DEPENDS",
    "METRIC",
    "NO",
    "NOT_CONVERGED",
    "REMEDIES",
    "SPREAD",
    "THRESHOLD",
    "TOO_FEW",
    "UNCLEAR",
    "YES",
]

REMEDIES = {
    NOT_CONVERGED: "a longer duration",
    SPREAD: "more repetitions",
    TOO_FEW: "6 repetitions or more",
}
"""Remedies for an unclear verdict, by its reason."""

METRIC = Metric(
    name="coexistence",
    unit="verdict",
    definition="Two flows share fairly when the share of the smaller, min(x1, x2) / (x1 + x2), is at least "
    f"{THRESHOLD}. The verdict is yes or no when the 95\u00a0% interval of the median over the "
    "repetitions (order statistics) lies on one side of that threshold; with fewer than six runs,"
    f" when each run lies at least {MARGIN} from it. Otherwise the verdict is unclear, because of spread or "
    "of too few runs. The verdict is also unclear where the flows have not converged: the share in the "
    "second half of the steady interval has the other verdict, or an unfair share rises by more "
    f"than {DRIFT} from the first half to the second. Where the verdict is yes in one order of "
    "start and no in the other, it depends on the order. With N flows against M, x1 and x2 are the mean "
    "goodputs per flow of each side: they are equal where the N flows get N / (N + M) of the goodput.",
    source="threshold: fitted to the verdicts of a study of pairs, where 45/58 Mbit/s counts as fair "
    "and 41/62 does not; interval: Conover, Practical nonparametric statistics, 1999, section 3.2; "
    "margin and drift are chosen",
    better="neither",
    per=("point",),
    compute=verdicts,
)
