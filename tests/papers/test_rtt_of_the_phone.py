"""How far the RTT of a single flow to the phone oscillates (`hsdpa`)."""

from __future__ import annotations

from pathlib import Path

import polars as pl
import pytest

from tussle.metrics import REGISTRY
from tussle.papers import Setting, Study, planned
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

DOCS = Path(__file__).parents[2] / "docs"
WORDS = " ".join((DOCS / "explanation" / "published-studies.md").read_text("utf-8").split())


@pytest.mark.parametrize("study_hosts", [False, True])
def test_flows_that_keep_more_of_their_window_at_a_loss_have_rtts_that_oscillate_less(tmp_path, study_hosts):
    part = planned(Study.load("hsdpa"), "downlink", Setting(study_hosts=study_hosts))
    scenario = Scenario.from_dict(part.with_settings({"flows.0.count": 1}).to_dict())
    dataset = sweep(scenario, tmp_path / "runs", SweepSettings())
    flows = dataset.flows.select("run", "flow", "algorithm").collect()
    mean = pl.col("rtt_p05_ms", "rtt_p95_ms", "rtt_spread_ms").mean()
    table = flows.join(REGISTRY["rtt"].compute(dataset), on=["run", "flow"]).group_by("algorithm").agg(mean)
    low, high, spread = (
        dict(table.select("algorithm", f"rtt_{column}_ms").iter_rows()) for column in ("p05", "p95", "spread")
    )
    assert max(spread["bic"], spread["cubic"]) < min(spread["reno"], spread["westwood"])
    assert min(low["bic"], low["cubic"]) > max(low["reno"], low["westwood"])
    if not study_hosts:
        ends = f"{min(high.values()):.0f} to {max(high.values()):.0f} ms"
        assert f"the 95th percentiles of its RTT are {ends}. But BIC and CUBIC keep more" in WORDS
        steady = f"{low['bic']:.0f} and {low['cubic']:.0f} ms"
        others = f"Reno and Westwood+ {low['reno']:.0f} and {low['westwood']:.0f}."
        assert f"their 5th percentiles are {steady}, and those of {others}" in WORDS
