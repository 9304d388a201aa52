"""Friendliness: the goodput that an algorithm leaves to Reno and to CUBIC."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError
from tussle.metrics._metric import Metric, Tables
from tussle.metrics._pairs import pair_runs, sides

REFERENCES = ("reno", "cubic")
"""The algorithms of most Internet traffic, so far."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, reference, friendliness`, a row for each flow beside a flow of Reno or CUBIC.

    `flow` is the flow in question, `reference` the algorithm of the other side. Null where the reference
    was not run beside itself, or got nothing there.
    """
    runs = pair_runs(tables)
    met = pl.concat([_met(runs, "first", "second"), _met(runs, "second", "first")])
    met = met.filter(pl.col("reference").is_in(REFERENCES))
    keys = ["reference", "side", "slice", "repetition"]
    among_themselves = met.filter(pl.col("subject") == pl.col("reference")).select(
        *keys, pl.col("left_bit_per_s").alias("itself_bit_per_s")
    )
    if among_themselves.is_empty():
        raise TussleError(
            "friendliness needs runs of two reno or of two cubic flows, and this dataset has none; give both "
            "flows lists of algorithms with reno or cubic in them"
        )
    itself = pl.col("itself_bit_per_s")
    return (
        met.join(among_themselves, on=keys, how="left")
        .join(sides(tables), on=["run", "side"])
        .select(
            "run",
            "flow",
            "reference",
            pl.when(itself > 0).then(pl.col("left_bit_per_s") / itself).alias("friendliness"),
        )
        .sort("run", "flow")
    )


def _met(runs: pl.DataFrame, subject: str, reference: str) -> pl.DataFrame:
    """Take one side of each run as the subject, and the other, with its goodput, as the reference."""
    return runs.select(
        "run",
        "repetition",
        "slice",
        pl.lit(0 if subject == "first" else 1, pl.UInt32).alias("side"),
        pl.col(subject).alias("subject"),
        pl.col(reference).alias("reference"),
        pl.col(f"{reference}_bit_per_s").alias("left_bit_per_s"),
    )


METRIC = Metric(
    name="friendliness",
    unit="1",
    definition="Goodput of Reno, or CUBIC, beside the flow, over its goodput beside another flow of Reno, or "
    "CUBIC, in the same order, network and repetition: x(reference | flow) / x(reference | reference), of "
    "several flows the mean. A "
    "value of 1 is as friendly as the reference itself; 1 minus the value is the fraction that the flow "
    "takes away.",
    source="RFC 5166, section 2.3 (TCP-friendliness); Tan et al., A compound TCP approach for high-speed and "
    "long-distance networks, INFOCOM 2006 (bandwidth stolen)",
    better="higher",
    per=("run", "flow"),
    compute=compute,
)
