"""Share of a flow in the goodput of all flows."""

from __future__ import annotations

from tussle.metrics._metric import Metric
from tussle.metrics._shares import shares

METRIC = Metric(
    name="share",
    unit="1",
    definition="Goodput of the flow over the sum of the goodputs of all flows of the run: x_i / Σ x. "
    "With n flows, the fair share is 1/n.",
    source="RFC 5166, section 2.3.1 (fairness between flows)",
    better="neither",
    per=("run", "flow"),
    compute=shares,
)
