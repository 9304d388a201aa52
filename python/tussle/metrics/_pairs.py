"""Pairs: the points of a dataset with two sides of flows, and their values on the other axes."""

from __future__ import annotations

import re
from functools import lru_cache

import polars as pl

from tussle.dataset.schema import RUNS
from tussle.metrics._metric import Tables

_PAIR = 2
_ALGORITHM_AXIS = re.compile(r"flows\.\d+\.algorithm")
_SIDES = ("first", "second")
"""Names of the two sides; a flow of several on a side has a number after it."""
_SIDE_OF_NAME = rf"^({'|'.join(_SIDES)})(?:-\d+)?$"


def axis_columns(tables: Tables) -> list[str]:
    """Return the columns of `runs` that are axes of the scenario, each named by its key in it."""
    declared = {column.name for column in RUNS.columns}
    return [name for name in tables.runs.collect_schema().names() if name not in declared]


@lru_cache(maxsize=2)
def sides(tables: Tables) -> pl.DataFrame:
    """Return `run, flow, side`: 0 for flows of the first side of a pair, 1 for those of the second.

    In runs of two flows, each is a side. Other runs have sides if all flows are called `first` or `second`,
    with or without a number. The table is empty if any run has no sides: the dataset does not compare pairs.
    """
    flows = tables.flows.select("run", "flow", "name").sort("run", "flow").collect()
    sizes = flows.group_by("run").len()["len"]
    if set(sizes) == {_PAIR}:
        side = pl.col("flow").rank("ordinal").over("run") - 1
    else:
        side = pl.col("name").str.extract(_SIDE_OF_NAME).replace_strict(_SIDES, [0, 1], default=None)
    found = flows.select("run", "flow", side.cast(pl.UInt32).alias("side"))
    is_whole = found["side"].null_count() == 0 and (
        set(found.group_by("run").agg(pl.col("side").n_unique())["side"]) == {_PAIR}
    )
    return found if is_whole else found.clear()


@lru_cache(maxsize=2)
def pairs(tables: Tables) -> pl.DataFrame:
    """Return the points with two sides.

    `point`, `first` and `second` algorithm, `slice`, `first_flows` and `second_flows`, the numbers of flows.
    `slice` names the values of the other axes ("path.rtt = 40 ms"), so that each pair of algorithms has one
    point per network in a slice; it is empty if there is no other axis. The table is empty if the dataset
    does not compare pairs, as `sides` decides.
    """
    runs = tables.runs.collect()
    others = [axis for axis in axis_columns(tables) if not _ALGORITHM_AXIS.fullmatch(axis)]
    named = [pl.format("{} = {}", pl.lit(axis), pl.col(axis)) for axis in others]
    is_of = {name: pl.col("side") == side for side, name in enumerate(_SIDES)}
    algorithms = tables.flows.select("run", "flow", "algorithm").collect()
    return (
        runs.with_columns(
            pl.concat_str(named, separator=", ").alias("slice") if named else pl.lit("").alias("slice")
        )
        .join(algorithms.join(sides(tables), on=["run", "flow"]), on="run")
        .sort("point", "run", "flow")
        .group_by("point", maintain_order=True)
        .agg(
            *(pl.col("algorithm").filter(here).first().alias(name) for name, here in is_of.items()),
            pl.col("slice").first(),
            *(pl.col("flow").filter(here).n_unique().alias(f"{name}_flows") for name, here in is_of.items()),
        )
    )


@lru_cache(maxsize=2)
def pair_runs(tables: Tables) -> pl.DataFrame:
    """Return the runs of two sides.

    `run, repetition, first, second, slice, first_flows, second_flows, first_bit_per_s, second_bit_per_s`:
    the mean goodputs per flow of each side. The table is empty if the dataset does not compare pairs.
    """
    goodputs = (
        side_means(tables.flows.select("run", "flow", "goodput_bit_per_s").collect(), sides(tables))
        .group_by("run", maintain_order=True)
        .agg(
            pl.col("goodput_bit_per_s").first().alias("first_bit_per_s"),
            pl.col("goodput_bit_per_s").last().alias("second_bit_per_s"),
        )
    )
    order = ["run", "repetition", *pairs(tables).columns[1:], "first_bit_per_s", "second_bit_per_s"]
    return (
        tables.runs.select("run", "point", "repetition")
        .collect()
        .join(goodputs, on="run")
        .join(pairs(tables), on="point")
        .sort("run")
        .select(order)
    )


def side_means(of_flows: pl.DataFrame, sides: pl.DataFrame) -> pl.DataFrame:
    """Return `run, side` and the mean of each column of `of_flows`, which has a row for each `run, flow`.

    A mean is null where the value of any flow of the side is unknown.
    """
    values = [column for column in of_flows.columns if column not in ("run", "flow")]
    is_known = [pl.col(value).is_not_null().all() for value in values]
    means = [
        pl.when(known).then(pl.col(value).mean()).alias(value)
        for value, known in zip(values, is_known, strict=True)
    ]
    return (
        of_flows.join(sides, on=["run", "flow"])
        .sort("run", "flow")
        .group_by("run", "side")
        .agg(means)
        .sort("run", "side")
    )
