"""Metrics of flows, on cases worked by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY


def two_flows(first: dict, second: dict) -> PlausibleDataset:
    return by_hand(runs=[run_row(0)], flows=[flow_row(0, 0, **first), flow_row(0, 1, **second)])


def test_goodput_counts_bytes_delivered_in_the_steady_interval():
    data = two_flows({"goodput_bit_per_s": 52e6}, {"goodput_bit_per_s": 44e6})
    assert REGISTRY["goodput"].compute(data)["goodput_bit_per_s"].to_list() == [52e6, 44e6]


def test_shares_are_fractions_of_the_total_goodput():
    """30 of 30 + 50 = 0.375, 50 of 80 = 0.625."""
    data = two_flows({"goodput_bit_per_s": 30e6}, {"goodput_bit_per_s": 50e6})
    assert REGISTRY["share"].compute(data)["share"].to_list() == [0.375, 0.625]


def test_a_run_without_deliveries_has_no_shares():
    data = two_flows({}, {})
    assert REGISTRY["share"].compute(data)["share"].to_list() == [None, None]
    assert REGISTRY["jain"].compute(data)["jain_index"].to_list() == [None]


@pytest.mark.parametrize(
    ("goodputs", "index"),
    [
        ([40e6, 40e6], 1.0),
        ([90e6, 30e6], 0.8),  # (90 + 30)² / (2 · (8100 + 900)) = 14400 / 18000
        ([60e6, 0.0, 0.0], 1 / 3),  # one of three has all
        ([95e6], 1.0),
    ],
)
def test_the_jain_index_uses_mean_goodputs(goodputs: list[float], index: float):
    flows = [flow_row(0, i, goodput_bit_per_s=goodput) for i, goodput in enumerate(goodputs)]
    data = by_hand(runs=[run_row(0)], flows=flows)
    assert REGISTRY["jain"].compute(data)["jain_index"].to_list() == pytest.approx([index])


def test_retransmitted_fraction_counts_retransmissions_as_sent():
    """The flow sends 1000 packets and 25 retransmissions: 25 / 1025."""
    data = two_flows({"steady_sent_packets": 1025, "steady_retransmitted_packets": 25}, {})
    fractions = REGISTRY["retransmitted"].compute(data)["retransmitted_fraction"].to_list()
    assert fractions == [pytest.approx(25 / 1025), None]


def test_timeouts_are_counted_for_the_steady_interval_and_for_the_run():
    data = two_flows({"steady_timeouts": 1, "timeouts": 3, "spurious_timeouts": 2}, {})
    assert REGISTRY["timeouts"].compute(data).row(0) == (0, 0, 1, 3, 2)


def test_rtt_quantiles_are_those_of_the_flow_and_absent_without_samples():
    silent = {name: None for name in flow_row(0, 0) if name.startswith("rtt_")}
    table = REGISTRY["rtt"].compute(two_flows({"rtt_p05_ms": 45.0, "rtt_p95_ms": 80.0}, silent))
    assert table["rtt_p95_ms"].to_list() == [80.0, None]
    assert table["rtt_spread_ms"].to_list() == [35.0, None]
    assert table.columns[2:] == [
        f"rtt_{q}_ms" for q in ("min", "mean", "p05", "p25", "p50", "p75", "p95", "p99", "spread")
    ]


def test_loss_columns_an_engine_does_not_report_stay_empty():
    data = two_flows({"spurious_timeouts": None, "steady_retransmitted_packets": None}, {})
    assert REGISTRY["timeouts"].compute(data)["spurious_timeouts"].to_list() == [None, 0]
    assert REGISTRY["retransmitted"].compute(data)["retransmitted_fraction"].to_list() == [None, None]


def test_power_is_goodput_over_delay():
    """50 Mbit/s over 0.1 s."""
    data = two_flows({"goodput_bit_per_s": 50e6, "rtt_mean_ms": 100.0}, {"rtt_mean_ms": None})
    assert REGISTRY["power"].compute(data)["power_bit_per_s2"].to_list() == [pytest.approx(5e8), None]


def test_completion_time_exists_only_for_transfers_that_ended():
    """The flow sends a megabyte in 2.5 s: 8e6 / 2.5 = 3.2 Mbit/s."""
    data = two_flows({"delivered_bytes": 1_000_000, "completion_s": 2.5}, {"delivered_bytes": 500_000})
    rows = [(0, 0, 1_000_000, 2.5, 3.2e6), (0, 1, None, None, None)]
    assert REGISTRY["completion"].compute(data).rows() == rows


def test_completion_of_flows_without_end_is_refused():
    with pytest.raises(TussleError, match="completion needs flows that complete"):
        REGISTRY["completion"].compute(two_flows({}, {}))
