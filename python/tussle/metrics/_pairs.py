"""Pairs: the points of a dataset with two flows, and their values on the other axes."""

from __future__ import annotations

import re

import polars as pl

from tussle.dataset.schema import RUNS
from tussle.metrics._metric import Tables

_PAIR = 2
_ALGORITHM_AXIS = re.compile(r"flows\.\d+\.algorithm")


def axis_columns(tables: Tables) -> list[str]:
    """Return the columns of `runs` that are axes of the scenario, each named by its key in it."""
    declared = {column.name for column in RUNS.columns}
    return [name for name in tables.runs.collect_schema().names() if name not in declared]


def pairs(tables: Tables) -> pl.DataFrame:
    """Return the points with two flows: `point`, `first` and `second` algorithm, and `slice`.

    `slice` names the values of the other axes ("path.rtt = 40 ms"), so that each pair of algorithms has one
    point per network in a slice; it is empty if there is no other axis. The table is empty if any run does
    not have exactly two flows: the dataset does not compare pairs.
    """
    flows = tables.flows.select("run", "flow", "algorithm").collect()
    sizes = flows.group_by("run").len()["len"]
    runs = tables.runs.collect()
    if set(sizes) != {_PAIR}:
        return pl.DataFrame(
            schema={"point": pl.UInt32, "first": pl.String, "second": pl.String, "slice": pl.String}
        )
    others = [axis for axis in axis_columns(tables) if not _ALGORITHM_AXIS.fullmatch(axis)]
    named = [pl.format("{} = {}", pl.lit(axis), pl.col(axis)) for axis in others]
    return (
        runs.with_columns(
            pl.concat_str(named, separator=", ").alias("slice") if named else pl.lit("").alias("slice")
        )
        .join(flows.sort("run", "flow"), on="run")
        .sort("point", "run", "flow")
        .group_by("point", maintain_order=True)
        .agg(
            pl.col("algorithm").first().alias("first"),
            pl.col("algorithm").get(1).alias("second"),
            pl.col("slice").first(),
        )
    )


def pair_runs(tables: Tables) -> pl.DataFrame:
    """Return the runs of two flows.

    `run, repetition, first, second, slice, first_bit_per_s, second_bit_per_s`; empty if the dataset does not
    compare pairs.
    """
    goodput = tables.flows.sort("run", "flow").group_by("run", maintain_order=True)
    goodputs = goodput.agg(
        pl.col("goodput_bit_per_s").first().alias("first_bit_per_s"),
        pl.col("goodput_bit_per_s").last().alias("second_bit_per_s"),
    )
    return (
        tables.runs.select("run", "point", "repetition")
        .join(goodputs, on="run")
        .collect()
        .join(pairs(tables), on="point")
        .drop("point")
        .sort("run")
    )
