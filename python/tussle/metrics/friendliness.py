"""Friendliness: the goodput that an algorithm leaves to Reno and to CUBIC."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError
from tussle.metrics._metric import Metric, Tables
from tussle.metrics._pairs import pair_runs

REFERENCES = ("reno", "cubic")
"""The algorithms that most of the Internet has run."""


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, reference, friendliness`, a row for each flow that meets Reno or CUBIC.

    `flow` is the flow in question, `reference` the algorithm of the other. Null where the reference
    was not run against itself, or got nothing from itself.
    """
    runs = pair_runs(tables)
    met = pl.concat([_met(runs, "first", "second"), _met(runs, "second", "first")])
    met = met.filter(pl.col("reference").is_in(REFERENCES))
    keys = ["reference", "flow", "slice", "repetition"]
    among_themselves = met.filter(pl.col("subject") == pl.col("reference")).select(
        *keys, pl.col("left_bit_per_s").alias("itself_bit_per_s")
    )
    if among_themselves.is_empty():
        raise TussleError(
            "friendliness needs runs of two flows in which reno meets reno, or cubic meets cubic, which this "
            "dataset has not; give both flows lists of algorithms with reno or cubic in them"
        )
    itself = pl.col("itself_bit_per_s")
    return (
        met.join(among_themselves, on=keys, how="left")
        .select(
            "run",
            pl.col("flow").cast(pl.UInt32),
            "reference",
            pl.when(itself > 0).then(pl.col("left_bit_per_s") / itself).alias("friendliness"),
        )
        .sort("run", "flow")
    )


def _met(runs: pl.DataFrame, subject: str, reference: str) -> pl.DataFrame:
    """Take one flow of each run as the subject, and the other, with its goodput, as the reference."""
    return runs.select(
        "run",
        "repetition",
        "slice",
        pl.lit(0 if subject == "first" else 1).alias("flow"),
        pl.col(subject).alias("subject"),
        pl.col(reference).alias("reference"),
        pl.col(f"{reference}_bit_per_s").alias("left_bit_per_s"),
    )


METRIC = Metric(
    name="friendliness",
    unit="1",
    definition="Goodput that Reno, or CUBIC, gets beside the flow over what it gets beside another of its "
    "own kind in the same place, network and repetition: x(reference | flow) / x(reference | reference). 1 "
    "is as friendly as the reference itself; 1 less this is what the flow takes away.",
    source="RFC 5166, section 2.3 (TCP-friendliness); Tan et al., A compound TCP approach for high-speed and "
    "long-distance networks, INFOCOM 2006 (bandwidth stolen)",
    better="higher",
    per=("run", "flow"),
    compute=compute,
)
