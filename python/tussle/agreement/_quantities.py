"""Quantities that two engines are compared by, one number of each run."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

import polars as pl

from tussle.metrics import REGISTRY, Tables

_REDUCTIONS = ("recovery", "timeout")


@dataclass(frozen=True)
class Quantity:
    """A number of a run, and how the numbers of two engines are compared."""

    name: str
    """Name of the column, which ends in its unit."""
    words: str
    difference: Literal["relative", "absolute"]
    """Relative to the reference, or in the unit of the quantity."""
    least: float = 0.0
    """Smallest value that a relative difference is divided by."""


QUANTITIES = (
    Quantity("goodput_mbit_per_s", "goodput of all flows", "relative"),
    Quantity("share_percent", "share of the last flow", "absolute"),
    Quantity("retransmitted_packets", "retransmitted packets of all flows, in the whole run", "relative", 1),
    Quantity("timeouts", "timeouts of all flows, in the whole run", "absolute"),
    Quantity("rtt_mean_ms", "mean RTT of the last flow", "relative"),
    Quantity("rtt_p95_ms", "95th percentile of the RTT of the last flow", "relative"),
    Quantity("queue_packets", "mean queue", "relative", 1),
    Quantity(
        "first_loss_s",
        "time from the start of the last flow to its first recovery or timeout",
        "relative",
        0.01,
    ),
    Quantity(
        "sawtooth_period_s",
        "mean time between reductions of the last flow, if it has three",
        "relative",
        0.01,
    ),
    Quantity(
        "sawtooth_amplitude_packets",
        "mean fall of the last flow's window from the start of a recovery to ssthresh",
        "relative",
        1,
    ),
)
"""Every quantity, over the steady interval unless its description differs."""


def quantities(tables: Tables) -> pl.DataFrame:
    """Return `run, point, repetition` and every quantity, null if a run has none, sorted by run."""
    flows = tables.flows.collect()
    last = flows.filter(pl.col("flow") == pl.col("flow").max().over("run"))
    share = REGISTRY["share"].compute(tables).join(last.select("run", "flow"), on=["run", "flow"])
    counts = flows.group_by("run").agg(
        (pl.col("goodput_bit_per_s").sum() / 1e6).alias("goodput_mbit_per_s"),
        pl.col("retransmitted_packets").sum().cast(pl.Float64),
        pl.col("timeouts").sum().cast(pl.Float64),
    )
    queue = REGISTRY["queue"].compute(tables).select("run", queue_packets="queue_mean_packets")
    runs = tables.runs.select("run", "point", "repetition").collect()
    return (
        runs.join(counts, on="run", how="left")
        .join(share.select("run", (pl.col("share") * 100).alias("share_percent")), on="run", how="left")
        .join(last.select("run", "rtt_mean_ms", "rtt_p95_ms"), on="run", how="left")
        .join(queue, on="run", how="left")
        .join(_losses(tables, last), on="run", how="left")
        .select("run", "point", "repetition", *(quantity.name for quantity in QUANTITIES))
        .sort("run")
    )


def first_losses(tables: Tables) -> pl.DataFrame:
    """Return `run, first_loss_s` of each run's last flow, from its start; runs without one are left out."""
    flows = tables.flows.collect()
    return _losses(tables, flows.filter(pl.col("flow") == pl.col("flow").max().over("run"))).select(
        "run", "first_loss_s"
    )


def _losses(tables: Tables, last: pl.DataFrame) -> pl.DataFrame:
    steady = tables.runs.select("run", "steady_from_s", "steady_to_s").collect()
    reductions = (
        tables.events.filter(pl.col("kind").is_in(_REDUCTIONS))
        .select("run", "flow", "time_s", "kind", "cwnd_packets", "ssthresh_packets")
        .collect()
        .join(last.select("run", "flow", "start_s"), on=["run", "flow"])
        .join(steady, on="run")
        .sort("run", "time_s")
    )
    first = reductions.group_by("run").agg((pl.col("time_s") - pl.col("start_s")).min().alias("first_loss_s"))
    is_steady = pl.col("time_s").is_between("steady_from_s", "steady_to_s")
    fall = pl.col("cwnd_packets").cast(pl.Float64) - pl.col("ssthresh_packets").cast(pl.Float64)
    sawtooth = (
        reductions.filter(is_steady)
        .group_by("run")
        .agg(
            pl.when(pl.len() >= 3)  # noqa: PLR2004 (two spans, as the quantity says)
            .then((pl.col("time_s").max() - pl.col("time_s").min()) / (pl.len() - 1))
            .alias("sawtooth_period_s"),
            fall.filter(pl.col("kind") == "recovery").mean().alias("sawtooth_amplitude_packets"),
        )
    )
    return first.join(sawtooth, on="run", how="left")
