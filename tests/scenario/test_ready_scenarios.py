"""Shortened ready scenarios, from the command to the report."""

from pathlib import Path

import polars as pl
import pytest

import tussle
from tussle.scenario import ready_scenarios

SHORT = {"duration": "14 s", "steady.from": "11 s", "steady.to": "14 s"}
"""The latest of their flows start after 10 s."""
MORE = {"what-a-halved-rate-does": {"path.changes.0.at": "4 s", "path.changes.1.at": "8 s"}}
"""What else has to be sooner, by scenario."""


@pytest.mark.parametrize("name", ready_scenarios())
def test_a_ready_scenario_runs_and_each_of_its_points_delivers(tussle_, tmp_path: Path, name: str):
    settings = [f"--set={key}={value}" for key, value in (SHORT | MORE.get(name, {})).items()]
    answer = tussle_("run", name, "--repetitions", 1, "--workers", 2, *settings)
    assert answer.status == 0, answer.problems
    assert answer.out.splitlines()[-1] == f"report: results/{name}/report.html"
    data = tussle.open(tmp_path / "results" / name)
    data.verify()
    assert data.runs.select(pl.len()).collect().item() == len(data.scenario.points())
    goodput = pl.col("goodput_bit_per_s")
    runs = (
        data.flows.join(data.runs, on="run").group_by("run").agg(goodput.sum(), goodput.max().alias("most"))
    )
    rates = runs.join(data.runs.select("run", "link_rate_bit_per_s"), on="run").collect()
    assert (rates["goodput_bit_per_s"] > 0).all()
    assert (rates["most"] < rates["link_rate_bit_per_s"]).all()
