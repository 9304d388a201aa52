"""What a send buffer does to the flows of the testbed (`linux-variants`)."""

from __future__ import annotations

import polars as pl
import pytest

from tussle.papers import Setting, Study, planned
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

PACKETS = 557
MSS_BYTES = 1448
RTT_S = 0.1


def test_a_flow_that_fills_its_send_buffer_gets_two_thirds_of_it_in_a_round_trip(tmp_path):
    """The application sleeps until a third of the buffer is free: 557 * 2 / 3 = 371 packets."""
    study = Study.load("linux-variants")
    part = planned(study, "send-buffer", Setting(study_hosts=True))
    chosen = {"repetitions": 1, "duration": "60 s", "steady.from": "20 s", "flows.0.algorithm": "htcp"}
    tables = part.with_settings(chosen).to_dict()
    tables["cases"] = [{"path.rtt": "100 ms", "path.loss": "0 %"}]
    dataset = sweep(Scenario.from_dict(tables), tmp_path / "runs", SweepSettings())
    goodput = dict(
        dataset.flows.join(dataset.runs, on="run")
        .select("hosts.wmem", pl.col("goodput_bit_per_s") * RTT_S / 8 / MSS_BYTES)
        .collect()
        .iter_rows()
    )
    unlimited, limited = goodput.values()
    assert limited == pytest.approx(2 / 3 * PACKETS, rel=0.01)
    # The window: three quarters of 1 MiB.
    assert unlimited == pytest.approx(0.75 * 2**20 / MSS_BYTES, rel=0.01)
