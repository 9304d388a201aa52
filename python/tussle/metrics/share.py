"""Share of a flow in what all flows got."""

from __future__ import annotations

import polars as pl

from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, share`, 0 to 1; null where no flow of the run delivered anything."""
    goodput = pl.col("goodput_bit_per_s")
    total = goodput.sum().over("run")
    return (
        tables.flows.sort("run", "flow")
        .select("run", "flow", pl.when(total > 0).then(goodput / total).alias("share"))
        .collect()
    )


METRIC = Metric(
    name="share",
    unit="1",
    definition="Goodput of the flow over the sum of the goodputs of all flows of the run: x_i / Σ x. "
    "With n flows 1/n is the fair share.",
    source="RFC 5166, section 2.3.1 (fairness between flows)",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
