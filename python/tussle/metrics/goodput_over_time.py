"""Goodput of a flow over time."""

from __future__ import annotations

from tussle.metrics._metric import Metric
from tussle.metrics._over_time import goodputs

METRIC = Metric(
    name="goodput_over_time",
    unit="bit/s",
    definition="Goodput in consecutive intervals of equal length: 8 · (bytes delivered at the end - bytes "
    "delivered at the start) / length.",
    source="RFC 5166, section 2.1.1, over short intervals",
    better="neither",
    per=("run", "flow", "time_s"),
    compute=goodputs,
)
