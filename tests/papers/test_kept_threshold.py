"""What a connection retransmits after an earlier one, as docs/explanation/published-studies.md states it."""

from __future__ import annotations

import tomllib
from pathlib import Path

import polars as pl
import pytest

import tussle

DOCS = Path(__file__).parents[2] / "docs"
WORDS = " ".join((DOCS / "explanation" / "published-studies.md").read_text("utf-8").split())
TWO_IN_A_ROW = """
question = "What does a connection lose after an earlier one between the same hosts?"
duration = "620 s"
steady.from = "0 s"
repetitions = 8
record.samples = "off"

[path]
profile = "hsdpa"

[hosts]
profile = "linux-2.6.24"
metrics_save = [true, false]

[[flows]]
algorithm = "reno"
bytes = "30 MB"
arrivals = "uniform(200 s, 200.1 s)"
stop = "500 s"
"""


@pytest.fixture(scope="module")
def second() -> dict[str, float]:
    """Percentage that the second connection retransmits, by whether the host keeps metrics."""
    dataset = tussle.run(tomllib.loads(TWO_IN_A_ROW))
    keeps = dataset.runs.select("run", "hosts.metrics_save")
    flows = dataset.flows.filter(pl.col("flow") == 1).join(keeps, on="run").collect()
    assert flows["completion_s"].null_count() == 0
    part = 100 * pl.col("retransmitted_packets").sum() / pl.col("sent_packets").sum()
    return dict(flows.group_by("hosts.metrics_save").agg(part).iter_rows())


def test_a_second_connection_retransmits_what_is_stated(second: dict[str, float]):
    said = f"retransmits {second['true']:.2f} % if another one has preceded it between the same hosts"
    assert f"{said}, and {second['false']:.2f} % if its host keeps nothing" in WORDS
    # A connection that starts without a threshold overflows the buffer once more than the other.
    assert second["false"] > 3 * second["true"]
