"""Goodput of a flow over its max-min fair share."""

from __future__ import annotations

import math

import polars as pl

from tussle.metrics._baseline import baseline_runs, baseline_tables, rate_bit_per_s
from tussle.metrics._metric import Metric, Tables


def compute(tables: Tables) -> pl.DataFrame:
    """`run, flow, fair_bit_per_s, max_min_share`; null where goodputs are 0 or unknown."""
    flows = _with_demands(tables)
    fair: list[float | None] = []
    for _, run in flows.group_by("run", maintain_order=True):
        goodputs, demands = run["goodput_bit_per_s"].to_list(), run["demand_bit_per_s"].to_list()
        is_known = None not in goodputs
        fair += _fair_division(math.fsum(goodputs), demands) if is_known else [None] * run.height
    share = pl.when(pl.col("fair_bit_per_s") > 0).then(pl.col("goodput_bit_per_s") / pl.col("fair_bit_per_s"))
    return flows.with_columns(pl.Series("fair_bit_per_s", fair, dtype=pl.Float64)).select(
        "run", "flow", "fair_bit_per_s", share.alias("max_min_share")
    )


def _with_demands(tables: Tables) -> pl.DataFrame:
    """`run, flow, goodput_bit_per_s, demand_bit_per_s`; the demand is the rate of the baseline run."""
    flows = tables.flows.select("run", "flow", "goodput_bit_per_s").sort("run", "flow").collect()
    baseline = baseline_tables(tables)
    if baseline is None:
        return flows.with_columns(pl.lit(None, dtype=pl.Float64).alias("demand_bit_per_s"))
    alone = baseline.flows.select("run", rate_bit_per_s().alias("demand_bit_per_s")).collect()
    return (
        flows.join(baseline_runs(tables, baseline), on=["run", "flow"], how="left")
        .join(alone, left_on="baseline_run", right_on="run", how="left")
        .sort("run", "flow")
    )


def _fair_division(total: float, demands: list[float | None]) -> list[float | None]:
    """Divide a total by max-min fairness.

    A flow that demands less than an equal part of the remainder gets its demand; a demand of `None` has no
    limit.
    """
    given: dict[int, float] = {}
    by_demand = sorted(range(len(demands)), key=lambda flow: (_amount(demands[flow]), flow))
    for served, flow in enumerate(by_demand):
        equal_part = (total - sum(given.values())) / (len(demands) - served)
        given[flow] = min(equal_part, _amount(demands[flow]))
    return [given[flow] for flow in range(len(demands))]


def _amount(demand: float | None) -> float:
    return math.inf if demand is None else demand


METRIC = Metric(
    name="max_min_share",
    unit="1",
    definition="Goodput of the flow over its max-min fair share m of the goodput of all flows of the run, "
    "x_i / m_i. A flow whose goodput alone is less than an equal part has that goodput as its fair share; "
    "the other flows divide the rest equally. Without baseline runs (`baseline = true`) the demand of every "
    "flow has no limit, and the value is n times its share.",
    source="RFC 5166, section 2.3.1 (max-min fairness); Bertsekas and Gallager, Data networks, 1992, "
    "section 6.5.2",
    better="neither",
    per=("run", "flow"),
    compute=compute,
)
