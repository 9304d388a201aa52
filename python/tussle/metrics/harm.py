"""Harm: the performance that a flow loses to the others, compared with its baseline run."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError, setting
from tussle.metrics._baseline import baseline_runs, baseline_tables, rate_bit_per_s
from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, throughput_harm, delay_harm, loss_harm`; null where the flow has no baseline run.

    Values are at most 1, and negative where the flow does better beside the others.
    """
    baseline = baseline_tables(tables)
    if baseline is None:
        raise TussleError(
            "harm needs baseline runs, and this dataset has none; run the scenario again with "
            f"{setting('baseline', 'true')}"
        )
    alone = (
        _performance(baseline)
        .drop("flow")
        .rename(lambda name: name if name == "run" else f"baseline_{name}")
        .collect()
    )
    both = (
        _performance(tables)
        .collect()
        .join(baseline_runs(tables, baseline), on=["run", "flow"], how="left")
        .join(alone, left_on="baseline_run", right_on="run", how="left")
    )
    return both.select(
        "run",
        "flow",
        _loss_of("goodput", "baseline_goodput").alias("throughput_harm"),
        _loss_of("baseline_delay", "delay").alias("delay_harm"),
        _loss_of("baseline_retransmitted", "retransmitted").alias("loss_harm"),
    ).sort("run", "flow")


def _performance(tables: Tables) -> pl.LazyFrame:
    sent = pl.col("steady_sent_packets")
    return tables.flows.select(
        "run",
        "flow",
        rate_bit_per_s().alias("goodput"),
        pl.col("rtt_p95_ms").alias("delay"),
        pl.when(sent > 0).then(pl.col("steady_retransmitted_packets") / sent).alias("retransmitted"),
    )


def _loss_of(less: str, more: str) -> pl.Expr:
    """Return (more - less) / more; 0 where `more` is 0."""
    larger = pl.col(more)
    part = (larger - pl.col(less)) / larger
    return pl.when(larger > 0).then(part).when((larger == 0) & pl.col(less).is_not_null()).then(0.0)


METRIC = Metric(
    name="harm",
    unit="1",
    definition="x is the value of the flow in its baseline run (alone on the same path, in the same "
    "interval); y is its value beside the other flows. The harm is (x - y) / x for the goodput (for a "
    "completed transfer: its size over its completion time), and (y - x) / y for the 95th percentile of the "
    "RTT and for the fraction of retransmitted packets. 0 is no harm, 1 the largest harm. A flow that loses "
    "no packet has a loss harm of 0. The metric needs the baseline runs that `baseline = true` adds to a "
    "scenario.",
    source="Ware, Mukerjee, Seshan and Sherry, Beyond Jain's fairness index: setting the bar for the "
    "deployment of congestion control algorithms, HotNets 2019",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
