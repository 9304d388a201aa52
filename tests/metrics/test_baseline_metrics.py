"""Metrics that compare a flow with its baseline run, in cases computed by hand."""

from dataclasses import replace

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY, select_runs

MBIT = 1e6


def alone(run: int, name: str, axes: dict[str, str], **flow: object) -> tuple[dict, dict]:
    return run_row(run, baseline=name, **axes), flow_row(run, 0, name=name, **flow)


def pair(*flows: dict, axes: dict[str, str] | None = None) -> PlausibleDataset:
    return by_hand(
        runs=[run_row(0, **(axes or {}))],
        flows=[flow_row(0, index, **flow) for index, flow in enumerate(flows)],
    )


def with_baseline(data: PlausibleDataset, *baseline: tuple[dict, dict]) -> PlausibleDataset:
    runs, flows = zip(*baseline, strict=True)
    return replace(data, baseline=by_hand(runs=runs, flows=flows))


def test_harm_is_the_relative_degradation_against_the_baseline():
    """Goodput 90 → 30: 60 / 90. RTT 50 → 80 ms: 30 / 80. Retransmitted 1 of 100 → 4 of 100: 3 / 4."""
    harmed = {
        "goodput_bit_per_s": 30 * MBIT,
        "rtt_p95_ms": 80.0,
        "steady_sent_packets": 100,
        "steady_retransmitted_packets": 4,
    }
    calm = {
        "goodput_bit_per_s": 90 * MBIT,
        "rtt_p95_ms": 50.0,
        "steady_sent_packets": 200,
        "steady_retransmitted_packets": 2,
    }
    data = with_baseline(pair(harmed, {}), alone(9, "flow-0", {}, **calm))
    table = REGISTRY["harm"].compute(data)
    assert table.row(0) == (0, 0, pytest.approx(2 / 3), pytest.approx(3 / 8), pytest.approx(3 / 4))
    assert table.row(1) == (0, 1, None, None, None)


def test_harm_is_negative_for_a_flow_that_gains_from_competition():
    """Goodput is 10 alone and 15 with a competitor: (10 - 15) / 10."""
    data = with_baseline(
        pair({"goodput_bit_per_s": 15 * MBIT}), alone(9, "flow-0", {}, goodput_bit_per_s=10 * MBIT)
    )
    assert REGISTRY["harm"].compute(data)["throughput_harm"].to_list() == [-0.5]


def test_a_flow_that_loses_nothing_suffers_no_loss_harm():
    clean = {"steady_sent_packets": 100, "steady_retransmitted_packets": 0}
    data = with_baseline(pair(clean), alone(9, "flow-0", {}, **clean))
    assert REGISTRY["harm"].compute(data)["loss_harm"].to_list() == [0.0]


def test_harm_to_a_transfer_uses_the_rate_until_its_completion():
    """8 Mbit take 2 s alone and 8 s with a competitor: 4 → 1 Mbit/s, independent of the steady interval."""
    transfer = {"delivered_bytes": 1_000_000, "goodput_bit_per_s": 7.0}
    data = with_baseline(
        pair({**transfer, "completion_s": 8.0}), alone(9, "flow-0", {}, **transfer, completion_s=2.0)
    )
    assert REGISTRY["harm"].compute(data)["throughput_harm"].to_list() == [0.75]


def test_losses_that_an_engine_does_not_report_are_unknown():
    silent = {"steady_sent_packets": None, "steady_retransmitted_packets": None}
    data = with_baseline(pair(silent), alone(9, "flow-0", {}, **silent))
    assert REGISTRY["harm"].compute(data)["loss_harm"].to_list() == [None]


def test_a_flow_is_compared_with_itself_in_the_same_network():
    """The axis of the other flow is empty in a baseline run and matches any value; the RTT has to match."""
    here = {"path.rtt": "20 ms", "flows.0.algorithm": "reno", "flows.1.algorithm": "bic"}
    own = {"flows.0.algorithm": "reno", "flows.1.algorithm": None}
    data = with_baseline(
        pair({"goodput_bit_per_s": 5 * MBIT}, {}, axes=here),
        alone(7, "flow-0", {"path.rtt": "40 ms", **own}, goodput_bit_per_s=8 * MBIT),
        alone(8, "flow-0", {"path.rtt": "20 ms", **own}, goodput_bit_per_s=10 * MBIT),
        alone(9, "flow-0", {"path.rtt": "20 ms", **own, "flows.0.algorithm": "bic"}, goodput_bit_per_s=1.0),
    )
    assert REGISTRY["harm"].compute(data)["throughput_harm"].to_list() == [0.5, None]


def test_a_selection_of_runs_keeps_their_baseline_runs():
    data = with_baseline(pair({}), alone(9, "flow-0", {}, goodput_bit_per_s=10 * MBIT))
    assert REGISTRY["harm"].compute(select_runs(data, [0]))["throughput_harm"].to_list() == [1.0]


def test_without_baseline_runs_harm_names_the_setting_that_adds_them():
    with pytest.raises(TussleError, match=r'settings=\{"baseline": "true"\}'):
        REGISTRY["harm"].compute(pair({}, {}))


def test_without_limits_the_max_min_share_is_n_times_the_share():
    """The total is 80, so the fair share is 40 each; 30 / 40 and 50 / 40."""
    data = pair({"goodput_bit_per_s": 30 * MBIT}, {"goodput_bit_per_s": 50 * MBIT})
    table = REGISTRY["max_min_share"].compute(data)
    assert table["fair_bit_per_s"].to_list() == [40 * MBIT] * 2
    assert table["max_min_share"].to_list() == [0.75, 1.25]


def test_max_min_shares_satisfy_small_demands_and_divide_the_rest():
    """The total is 90: one flow can use no more than 10, the others get (90 - 10) / 2 = 40 each."""
    data = with_baseline(
        pair(*({"goodput_bit_per_s": rate * MBIT} for rate in (20, 10, 60))),
        alone(7, "flow-0", {}, goodput_bit_per_s=95 * MBIT),
        alone(8, "flow-1", {}, goodput_bit_per_s=10 * MBIT),
        alone(9, "flow-2", {}, goodput_bit_per_s=95 * MBIT),
    )
    table = REGISTRY["max_min_share"].compute(data)
    assert table["fair_bit_per_s"].to_list() == [40 * MBIT, 10 * MBIT, 40 * MBIT]
    assert table["max_min_share"].to_list() == [0.5, 1.0, 1.5]


def test_a_run_with_an_unknown_goodput_has_no_fair_share():
    data = pair({"goodput_bit_per_s": None}, {"goodput_bit_per_s": 50 * MBIT})
    assert REGISTRY["max_min_share"].compute(data)["max_min_share"].to_list() == [None, None]
