"""Retransmission timeouts of a flow."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, steady_timeouts` in the steady interval, `timeouts, spurious_timeouts` in the whole run."""
    return (
        tables.flows.select("run", "flow", "steady_timeouts", "timeouts", "spurious_timeouts")
        .sort("run", "flow")
        .collect()
    )


METRIC = Metric(
    name="timeouts",
    unit="timeouts",
    definition="Number of expiries of the retransmission timer: in the steady interval, in the whole run, "
    "and those of the whole run that turned out spurious (the packet was late, not lost).",
    source="RFC 6298, section 5; RFC 5682 (F-RTO) for spurious timeouts",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
