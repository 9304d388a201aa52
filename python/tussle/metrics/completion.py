"""Completion time and size of transfers."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError
from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, size_bytes, completion_s, completion_goodput_bit_per_s`; null where it was not complete."""
    complete = pl.col("completion_s").is_not_null()
    table = (
        tables.flows.select(
            "run",
            "flow",
            pl.when(complete).then(pl.col("delivered_bytes")).alias("size_bytes"),
            "completion_s",
            pl.when(complete)
            .then(8 * pl.col("delivered_bytes") / pl.col("completion_s"))
            .alias("completion_goodput_bit_per_s"),
        )
        .sort("run", "flow")
        .collect()
    )
    if table["completion_s"].null_count() == table.height:
        raise TussleError(
            "completion needs flows that complete, and this dataset has none; give flows `bytes`, and a "
            "`duration` that is long enough for them"
        )
    return table


METRIC = Metric(
    name="completion",
    unit="bytes, s, bit/s",
    definition="Size of the flow's transfer, and the time from its start until the last byte reached the "
    "receiving application; its goodput is the size over that time.",
    source="RFC 5166, section 2.1.1 (transfer times); Dukkipati and McKeown, Why flow-completion time is the "
    "right metric for congestion control, CCR 36(1), 2006",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
