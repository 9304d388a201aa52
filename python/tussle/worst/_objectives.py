"""Objectives of a search: what makes a scenario bad, in terms of the project's metrics."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY, Tables

TESTED, BESIDE = "tested", "beside"
"""Names of the flows of the algorithm, and of those beside it."""


@dataclass(frozen=True)
class Objective:
    """A quantity that a search makes as large as possible."""

    name: str
    quantity: str
    """The measured quantity, in a few words."""
    says: str
    """The meaning of a large value, with `{x}` and `{y}` for the algorithm and the victim, and `{by}` for the
    algorithm's place beside the victim."""
    asks: str
    """The question that a search answers, with `{x}` and `{y}`."""
    definition: str
    source: str
    unit: str
    compute: Callable[[Tables], pl.DataFrame]
    """`run, value`; null where the value is unknown."""
    two: bool = True
    """Whether other flows run beside those of the algorithm even if no victim is given."""
    victim: str | None = None
    """The victim if none is given; `None`: the algorithm itself."""
    relative: bool = False
    """Whether `compute` gives the goodput of the victim. The badness is then the part of it that is lost,
    compared with the same scenario with the victim in place of the algorithm."""
    series: bool = False
    """Whether the metric needs time series."""


def _subjects(tables: Tables) -> pl.DataFrame:
    """`run, flow`: the flows beside the algorithm's, or all flows if they have the same algorithm."""
    flows = tables.flows.select("run", "flow", "name", "algorithm").collect()
    is_beside = pl.col("name").str.starts_with(BESIDE)
    same = pl.col("algorithm").n_unique().over("run") == 1
    return flows.filter(is_beside | same).select("run", "flow")


def _tested(tables: Tables) -> pl.DataFrame:
    is_tested = pl.col("name").str.starts_with(TESTED)
    return tables.flows.filter(is_tested).select("run", "flow").collect()


def _starvation(tables: Tables) -> pl.DataFrame:
    share = REGISTRY["share"].compute(tables)
    count = share.group_by("run").agg(pl.len().alias("flows"))
    return (
        share.join(_subjects(tables), on=["run", "flow"])
        .group_by("run")
        .agg(pl.col("share").min())
        .join(count, on="run")
        .select("run", (1 - pl.col("share") * pl.col("flows")).alias("value"))
        .sort("run")
    )


def _goodput_of_victim(tables: Tables) -> pl.DataFrame:
    goodput = REGISTRY["goodput"].compute(tables)
    beside = tables.flows.filter(pl.col("name").str.starts_with(BESIDE)).select("run", "flow").collect()
    return (
        goodput.join(beside, on=["run", "flow"])
        .group_by("run")
        .agg(pl.col("goodput_bit_per_s").mean().alias("value"))
        .sort("run")
    )


def _unfairness(tables: Tables) -> pl.DataFrame:
    flows = tables.flows.group_by("run").agg(pl.len().alias("n")).collect()
    jain = REGISTRY["jain"].compute(tables).join(flows, on="run")
    value = (1 - pl.col("jain_index")) * pl.col("n") / (pl.col("n") - 1)
    return jain.select("run", pl.when(pl.col("n") > 1).then(value).otherwise(0.0).alias("value")).sort("run")


def _queue(tables: Tables) -> pl.DataFrame:
    delay = REGISTRY["queueing_delay"].compute(tables)
    base = tables.runs.select("run", "base_rtt_ms").collect()
    return (
        delay.join(base, on="run")
        .select("run", (pl.col("queueing_delay_p95_ms") / pl.col("base_rtt_ms")).alias("value"))
        .sort("run")
    )


def _utilisation(tables: Tables) -> pl.DataFrame:
    found = REGISTRY["utilisation"].compute(tables)
    return found.select("run", (1 - pl.col("utilisation")).alias("value"))


def _loss(tables: Tables) -> pl.DataFrame:
    found = REGISTRY["retransmitted"].compute(tables).join(_tested(tables), on=["run", "flow"])
    return found.group_by("run").agg(pl.col("retransmitted_fraction").mean().alias("value")).sort("run")


_ALL = (
    Objective(
        "harm",
        "excess harm",
        "{x} costs {y} more goodput than {y} would cost itself",
        "When does {x} harm {y} most?",
        "1 - x / y, where x is the goodput of the victim beside the algorithm, and y the one that it has in "
        "the same scenario beside its own kind. Above 0, the algorithm harms the victim more than the "
        "victim harms itself, which is the bar that the source proposes; 1 leaves the victim nothing. "
        "Without --victim, the victim is cubic.",
        "Ware, Mukerjee, Seshan and Sherry, Beyond Jain's fairness index: setting the bar for the deployment "
        "of congestion control algorithms, HotNets 2019",
        "1",
        _goodput_of_victim,
        victim="cubic",
        relative=True,
    ),
    Objective(
        "starvation",
        "starvation",
        "a flow of {y} starves{by}",
        "When does a flow of {y} starve{by}?",
        "1 minus the smallest share of a flow in multiples of its fair share: 1 - n · min x_i / Σ x (metric "
        "share), over the victim's flows, or over all n flows without --victim. 0 is a fair share; 1 is "
        "nothing at all, over the whole steady interval.",
        "Arun, Alizadeh and Balakrishnan, Starvation in end-to-end congestion control, SIGCOMM 2022, whose "
        "ratio of throughputs has no bound when this value nears 1",
        "1",
        _starvation,
    ),
    Objective(
        "queue",
        "queueing delay",
        "{x} keeps a long queue",
        "When does {x} keep the longest queue?",
        "The 95th percentile of the queueing delay (metric queueing_delay) over the base RTT.",
        "RFC 5166, section 2.1.2 (queueing delay)",
        "RTT",
        _queue,
        two=False,
        series=True,
    ),
    Objective(
        "utilisation",
        "idle part of the link",
        "{x} leaves the link idle",
        "When does {x} leave the link idle?",
        "1 minus the utilisation of the bottleneck (metric utilisation).",
        "RFC 5166, section 2.1.1 (link utilization)",
        "1",
        _utilisation,
        two=False,
    ),
    Objective(
        "loss",
        "retransmitted part",
        "{x} retransmits much of what it sends",
        "When does {x} retransmit most?",
        "The fraction of packets that are retransmissions (metric retransmitted), mean over the algorithm's "
        "flows.",
        "RFC 5166, section 2.1.3 (packet loss rates)",
        "1",
        _loss,
        two=False,
    ),
    Objective(
        "unfairness",
        "unfairness",
        "flows of {x} and {y} get unequal goodputs",
        "When are the goodputs of {x} and {y} most unequal?",
        "(1 - J) · n / (n - 1), where J is Jain's index of the n goodputs (metric jain): 0 when all are "
        "equal, 1 when one flow gets everything.",
        "Jain, Chiu and Hawe, A quantitative measure of fairness, DEC-TR-301, 1984",
        "1",
        _unfairness,
    ),
)
OBJECTIVES = {each.name: each for each in _ALL}
"""Every objective by name."""


def objective(name: str) -> Objective:
    """Return the objective with a name; raises TussleError when there is none."""
    if name not in OBJECTIVES:
        raise TussleError(f"--objective: {unknown('objective', name, OBJECTIVES)}")
    return OBJECTIVES[name]
