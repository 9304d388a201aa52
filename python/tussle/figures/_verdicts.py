"""The verdict on a pair of flows in words, for tables, reports and the terminal."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from tussle.metrics.coexistence import NOT_CONVERGED, REMEDIES, SPREAD, THRESHOLD

_WHOLE_PERCENT = 9.95
_LEAST_RUNS = 6


def percent(share: float) -> str:
    r"""Write a share as a percentage with a no-break space: whole, or two digits below ten.

    >>> percent(0.43), percent(0.0512)
    ('43\xa0%', '5.1\xa0%')
    """
    return f"{_percentage(share)}\u00a0%"


def spread_in_words(cell: Mapping[str, Any]) -> str:
    """Say between which shares the smaller flow lies, and in how many runs; `cell` is a row of verdicts."""
    runs = cell["runs"]
    if runs == 1:
        return "one run"
    low, high = _percentage(cell["smaller_share_low"]), percent(cell["smaller_share_high"])
    what = "95\u00a0% interval " if runs >= _LEAST_RUNS else ""
    return f"{what}{low} to {high}, {runs} runs"


def reason_in_words(cell: Mapping[str, Any]) -> str:
    """Say why a verdict is unclear, and what would decide it."""
    reason = cell["reason"]
    remedy = f"{REMEDIES[reason]} would decide"
    if reason == NOT_CONVERGED:
        late = percent(cell["smaller_share_late"])
        return f"{reason}: the smaller has {late} in the second half of the measured interval; {remedy}"
    if reason == SPREAD:
        return f"the interval holds the threshold of {percent(THRESHOLD)}; {remedy}"
    return f"{reason}, near the threshold of {percent(THRESHOLD)}; {remedy}"


def _percentage(share: float) -> str:
    number = share * 100
    return f"{number:.0f}" if number >= _WHOLE_PERCENT else f"{number:.2g}"
