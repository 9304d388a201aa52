"""Fraction of a flow's packets that are retransmissions."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, retransmitted_fraction`, 0 to 1; null where nothing was sent in the steady interval."""
    sent = pl.col("steady_sent_packets")
    fraction = pl.when(sent > 0).then(pl.col("steady_retransmitted_packets") / sent)
    return (
        tables.flows.select("run", "flow", fraction.alias("retransmitted_fraction"))
        .sort("run", "flow")
        .collect()
    )


METRIC = Metric(
    name="retransmitted",
    unit="1",
    definition="Retransmitted packets over all data packets sent, retransmissions included, in the steady "
    "interval: retransmitted / sent.",
    source="RFC 5166, section 2.1.3 (packet loss rates), as a sender counts them",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
