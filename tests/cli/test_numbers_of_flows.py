"""`tussle matrix --flows`: several flows of one algorithm against several of another."""

import json
from pathlib import Path

import pytest

import tussle
from plausible import by_hand, flow_row, run_row
from tussle.answers import Summary
from tussle.errors import TussleError
from tussle.experiment import pairs
from tussle.figures import cell_table, draw
from tussle.metrics import REGISTRY
from tussle.report._matrix import quantities


def test_each_side_is_a_table_with_a_count():
    flows = pairs("reno,vegas", profile="dsl", flows="4x1").scenario.flows
    assert [(flow.name, flow.count) for flow in flows] == [("first", 4), ("second", 1)]
    assert pairs("reno", flows=(4, 1)).scenario == pairs("reno", flows=" 4 x 1 ").scenario
    assert pairs("reno", flows="1x1").scenario == pairs("reno").scenario


def test_four_flows_share_fairly_with_one_that_gets_a_fifth():
    """Means of a flow: 20 of 20 + 20 is 0.5; 15 of 15 + 40 is 0.27."""
    runs, flows = [], []
    for run, (of_first, of_second) in enumerate([(20e6, 20e6), (15e6, 40e6)]):
        runs.append(run_row(run) | {"point": run})
        for flow in range(5):
            named = {"name": "second"} if flow == 4 else {"name": f"first-{flow}"}
            goodput = of_second if flow == 4 else of_first
            flows.append(flow_row(run, flow, algorithm="reno", goodput_bit_per_s=goodput) | named)
    table = REGISTRY["coexistence"].compute(by_hand(runs=runs, flows=flows))
    assert table.select("first_flows", "second_flows", "verdict").rows() == [(4, 1, "yes"), (4, 1, "no")]
    assert table["smaller_share"].to_list() == pytest.approx([0.5, 15 / 55])


def test_a_reno_flow_that_joins_four_gets_about_a_fifth(tmp_path: Path):
    dataset = tussle.matrix(
        "reno", profile="dsl", flows="4x1", duration="60 s", stagger="5 s", output=tmp_path / "d", workers=1
    )
    shares = REGISTRY["share"].compute(dataset)
    assert shares.filter(flow=4)["share"].median() == pytest.approx(1 / 5, abs=0.03)
    assert min(REGISTRY["jain"].compute(dataset)["jain_index"].to_list()) > 0.97
    assert "4 reno flows and 1 that starts later" in Summary(dataset).answer


def test_figures_and_reports_name_the_mean_of_the_first_side(tmp_path: Path):
    of_first = "share of the first side (mean of a flow)"
    dataset = tussle.matrix(
        "reno",
        profile="dsl",
        flows="2x1",
        duration="12 s",
        stagger="2 s",
        settings={"path.queue.limit": ["0.5 bdp", "1 bdp"]},
        output=tmp_path / "d",
        workers=1,
    )
    for figure in ("matrix", "share_over_buffer"):
        words = json.dumps(draw(figure, dataset).to_dict())
        assert of_first in words
        assert "first flow" not in words.replace("2 first flows", "")
    shown = quantities(dataset, cell_table(dataset))
    middles = {each.ends[1] for each in shown if each.of_both}
    assert middles == {"fair", "of the first side (mean of a flow)"}


def test_the_flow_with_the_shorter_round_trip_time_gets_more(tmp_path: Path):
    """Reno's window grows by a packet in each RTT, and the rate is the window divided by the RTT."""
    dataset = tussle.matrix(
        "reno",
        profile="dsl",
        rtt="20ms,80ms",
        duration="60 s",
        stagger="5 s",
        output=tmp_path / "d",
        workers=1,
    )
    rows = REGISTRY["share"].compute(dataset)
    assert min(rows.filter(flow=0)["share"].to_list()) > 0.6


@pytest.mark.parametrize("flows", ["4", "0x1", "axb", "4x1x1", "", "-1x2"])
def test_other_texts_are_refused_with_an_example(flows: str):
    with pytest.raises(TussleError, match=r"^flows: .* write them like 4x1"):
        pairs("reno", flows=flows)


def test_too_many_flows_are_refused_by_the_name_of_the_option():
    with pytest.raises(TussleError, match=r"^flows: 20000 is out of range; give 1 to 10000"):
        pairs("reno", flows="20000x1")
