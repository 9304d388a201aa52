"""Response time: the time that responses and chunks take."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError, setting
from tussle.metrics._metric import Metric, Tables
from tussle.metrics._steady import INSTANT_S


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, responses, response_time_p50_s, response_time_p95_s, response_time_mean_s`.

    Times are null where no response arrived. Raises TussleError when there are no events.
    """
    messages = _messages(tables)
    runs = tables.runs.select("run", "steady_from_s", "steady_to_s").collect()
    steady = messages.join(runs, on="run").filter(
        pl.col("time_s") >= pl.col("steady_from_s") - INSTANT_S,
        pl.col("time_s") < pl.col("steady_to_s") - INSTANT_S,
    )
    took = pl.col("took_s")
    summed = steady.group_by("run", "flow").agg(
        took.count().cast(pl.UInt32).alias("responses"),
        took.quantile(0.5, "linear").alias("response_time_p50_s"),
        took.quantile(0.95, "linear").alias("response_time_p95_s"),
        took.mean().alias("response_time_mean_s"),
    )
    flows = tables.flows.select("run", "flow").collect()
    return (
        flows.join(summed, on=["run", "flow"], how="left")
        .with_columns(pl.col("responses").fill_null(0))
        .sort("run", "flow")
    )


def _messages(tables: Tables) -> pl.DataFrame:
    """`run, flow, time_s, took_s`: the n-th response of a flow answers its n-th request."""
    ids = tables.flows.select("run", "flow").collect_schema()
    if "kind" not in tables.events.collect_schema() or tables.events.select(pl.len()).collect().item() == 0:
        raise TussleError(
            "response_time needs events, and this dataset has none; run the scenario again with "
            f"{setting('record.events', 'on')}"
        )
    events = tables.events.filter(pl.col("kind").is_in(["request", "response"])).sort(
        "run", "flow", "time_s", maintain_order=True
    )
    numbered = events.select(
        pl.col("run").cast(ids["run"]),
        pl.col("flow").cast(ids["flow"]),
        "kind",
        "time_s",
        pl.int_range(pl.len()).over("run", "flow", "kind").alias("number"),
    ).collect()
    asked = numbered.filter(pl.col("kind") == "request").drop("kind")
    answered = numbered.filter(pl.col("kind") == "response").select("run", "flow", "number", until_s="time_s")
    took = (pl.col("until_s") - pl.col("time_s")).alias("took_s")
    return asked.join(answered, on=["run", "flow", "number"]).select("run", "flow", "time_s", took)


METRIC = Metric(
    name="response_time",
    unit="s",
    definition="Time from the write of a response or a chunk until its last byte reached the receiving "
    "application: median, 95th percentile and mean of those that were written in the steady interval and "
    "arrived within the run, and their number.",
    source="RFC 5166, section 2.1.1 (transfer times)",
    better="lower",
    per=("run", "flow"),
    compute=compute,
)
