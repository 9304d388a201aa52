"""The verdict on a pair of flows in words, for tables, reports and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tussle.figures._words import percent, percentage
from tussle.metrics.coexistence import NOT_CONVERGED, REMEDIES, SPREAD, THRESHOLD
from tussle.statistics import LEAST


def whole_in_words(cell: Mapping[str, Any]) -> str:
    """Name what the shares of a pair are parts of; `cell` is a row of verdicts."""
    if cell["first_flows"] == cell["second_flows"] == 1:
        return "both goodputs"
    return "both mean goodputs per flow"


def spread_in_words(cell: Mapping[str, Any]) -> str:
    """Describe the interval of the smaller share and the number of runs; `cell` is a row of verdicts."""
    runs = cell["runs"]
    if runs == 1:
        return "one run"
    low, high = percentage(cell["smaller_share_low"]), percent(cell["smaller_share_high"])
    what = "95\u00a0% interval " if runs >= LEAST else ""
    return f"{what}{low} to {high}, {runs} runs"


def reason_in_words(cell: Mapping[str, Any]) -> str:
    """Describe why a verdict is unclear, and what would decide it."""
    reason = cell["reason"]
    remedy = f"{REMEDIES[reason]} would decide"
    if reason == NOT_CONVERGED:
        late = percent(cell["smaller_share_late"])
        return f"{reason}: the smaller has {late} in the second half of the measured interval; {remedy}"
    if reason == SPREAD:
        return f"the interval contains the threshold of {percent(THRESHOLD)}; {remedy}"
    return f"{reason}, near the threshold of {percent(THRESHOLD)}; {remedy}"
