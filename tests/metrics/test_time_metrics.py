"""Metrics of runs over time, in cases computed by hand."""

import math
from collections.abc import Sequence
from dataclasses import replace

import polars as pl
import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY

MBIT = 1e6
NO_BUFFER = {"buffer_packets": None, "base_rtt_ms": 10.0}
"""Fields of a run with which intervals of goodput_over_time are as short as samples and run allow."""


def rates(*flows: Sequence[float], starts: tuple[float, ...] = (), **run: object) -> PlausibleDataset:
    """Return one run with these goodputs in Mbit/s per flow and second, sampled four times a second."""
    seconds = len(flows[0])
    samples = []
    for flow, gained in enumerate(flows):
        for quarter in range(4 * seconds + 1):
            whole, part = divmod(quarter, 4)
            bits = sum(gained[:whole]) + (gained[whole] * part / 4 if part else 0)
            row = {"run": 0, "flow": flow, "time_s": quarter / 4, "delivered_bytes": int(bits * MBIT / 8)}
            samples.append(row)
    starts = starts or (0.0,) * len(flows)
    span = {"duration_s": float(seconds), "steady_from_s": 0.0, "steady_to_s": float(seconds)}
    return by_hand(
        runs=[run_row(0, **NO_BUFFER, **{**span, **run})],
        flows=[flow_row(0, flow, start_s=start) for flow, start in enumerate(starts)],
        samples=samples,
    )


SERIES = [
    "aggressiveness",
    "convergence",
    "goodput_by_decade",
    "jain_over_time",
    "queueing_delay",
    "responsiveness",
    "smoothness",
    "standing_queue",
    "starvation",
    "steadiness",
    "time_to_full_use",
]


@pytest.mark.parametrize("metric", SERIES)
def test_a_metric_of_time_series_without_samples_is_refused_with_the_setting_that_adds_them(metric: str):
    edges = [{"run": 0, "flow": 0, "link": "bottleneck", "time_s": time_s} for time_s in (20.0, 50.0, 60.0)]
    data = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0)], samples=edges, links=edges)
    with pytest.raises(TussleError, match=f'^{metric} needs time series.*record.samples": "100 ms"'):
        REGISTRY[metric].compute(data)


def test_jain_over_time_counts_only_flows_that_send():
    """One flow: 1. Goodputs of 30 and 10: 40² / (2 · 1000) = 0.8. Goodputs of 20 and 20: 1."""
    data = rates([40, 40, 30, 20], [0, 0, 10, 20], starts=(0.0, 2.0))
    table = REGISTRY["jain_over_time"].compute(data)
    by_second = table.group_by(table["time_s"].floor(), maintain_order=True).first()
    assert by_second["jain_index"].to_list() == pytest.approx([1.0, 1.0, 0.8, 1.0])
    assert by_second["sending_flows"].to_list() == [1, 1, 2, 2]


def test_a_transfer_that_ended_is_not_unfair():
    """The second flow sends for 2 of 4 s; after that the first flow has the whole link."""
    data = rates([20, 20, 40, 40], [20, 20, 0, 0])
    flows = data.flows.collect().to_dicts()
    flows[1]["completion_s"] = 2.0
    data = by_hand(
        runs=data.runs.collect().to_dicts(), flows=flows, samples=data.samples.collect().to_dicts()
    )
    assert REGISTRY["jain_over_time"].compute(data)["jain_index"].min() == pytest.approx(1.0)


def test_starvation_is_the_worst_second_of_the_steady_interval():
    """Shares of the second flow: 0 (before), 0.5, 0.1, 0.4."""
    data = rates([40, 20, 36, 24], [0, 20, 4, 16], steady_from_s=1.0)
    assert REGISTRY["starvation"].compute(data)["smallest_share"].to_list() == pytest.approx([0.5, 0.1])


def test_smoothness_is_deviation_over_mean():
    """10, 30, 10, 30: mean 20, deviation 10, so 0.5; a constant rate has 0."""
    table = REGISTRY["smoothness"].compute(rates([10, 30, 10, 30], [5, 5, 5, 5]))
    assert table["goodput_cov"].to_list() == pytest.approx([0.5, 0.0])


def test_convergence_is_five_fair_seconds_in_a_row():
    """The second flow starts at 2 s. Fair from 4 s for two seconds, and from 7 s on for good: 7 - 2 = 5 s.

    Then they have 22 and 18: 40² / (2 · (484 + 324)) = 0.990.
    """
    first = [40, 40, 38, 30, 22, 22, 30, 22, 22, 22, 22, 22]
    second = [0, 0, 2, 10, 18, 18, 10, 18, 18, 18, 18, 18]
    table = REGISTRY["convergence"].compute(rates(first, second, starts=(0.0, 2.0)))
    assert table.row(0) == (0, pytest.approx(5.0), pytest.approx(1600 / 1616))


def test_four_fair_seconds_are_no_convergence():
    first = [40, 22, 22, 22, 22, 30]
    second = [0, 18, 18, 18, 18, 10]
    table = REGISTRY["convergence"].compute(rates(first, second, starts=(0.0, 1.0)))
    assert table.row(0) == (0, None, None)


def test_a_single_flow_has_no_convergence_time():
    assert REGISTRY["convergence"].compute(rates([40.0] * 8)).row(0) == (0, None, None)


def test_the_response_of_a_flow_is_complete_when_its_goodput_has_halved():
    """The flow had 40; the other starts at 3 s. 36, 24, then 20 = 40 · 1/2 in the half second from 5 s on.

    5.5 - 3 = 2.5 s, or 250 round trips of 10 ms.
    """
    data = rates([40, 40, 40, 36, 24, 20, 20], [0, 0, 0, 4, 16, 20, 20], starts=(0.0, 3.0))
    row = REGISTRY["responsiveness"].compute(data).row(0)
    assert row == (0, 0, pytest.approx(2.5), pytest.approx(250))


def test_a_flow_that_does_not_yield_has_no_responsiveness():
    data = rates([40, 40, 40, 39, 38], [0, 0, 0, 1, 2], starts=(0.0, 3.0))
    assert REGISTRY["responsiveness"].compute(data).row(0) == (0, 0, None, None)


def test_a_steady_interval_whose_halves_agree_is_steady():
    """22 + 18 then 20 + 20: drifts of -2 / 40 and 2 / 40."""
    table = REGISTRY["steadiness"].compute(rates([22, 22, 20, 20], [18, 18, 20, 20]))
    assert table["drift"].to_list() == pytest.approx([-0.05, 0.05])
    assert table["is_steady"].to_list() == [True, True]


def test_flows_that_are_still_converging_are_not_steady():
    """36 + 4 then 28 + 12: 8 / 40 = 0.2 is more than 0.1."""
    table = REGISTRY["steadiness"].compute(rates([36, 36, 28, 28], [4, 4, 12, 12]))
    assert table["drift"].to_list() == pytest.approx([-0.2, 0.2])
    assert table["is_steady"].to_list() == [False, False]


def windows(*points: tuple[float, int, float, str]) -> PlausibleDataset:
    samples = [
        {"run": 0, "flow": 0, "time_s": time_s, "cwnd_packets": cwnd, "srtt_ms": srtt_ms, "state": state}
        for time_s, cwnd, srtt_ms, state in points
    ]
    return by_hand(runs=[run_row(0, steady_from_s=0.0)], flows=[flow_row(0, 0)], samples=samples)


def test_aggressiveness_is_the_growth_of_cwnd_per_round_trip():
    """cwnd grows by 2 packets in two RTTs of 50 ms, by 6 in two, and by 1 in two after a reduction."""
    data = windows(
        (1.0, 10, 50.0, "open"),
        (1.1, 12, 50.0, "open"),
        (1.2, 18, 50.0, "open"),
        (1.3, 9, 50.0, "recovery"),
        (1.4, 18, 50.0, "open"),
        (1.5, 19, 50.0, "open"),
    )
    assert REGISTRY["aggressiveness"].compute(data)["growth_packets_per_rtt"].to_list() == pytest.approx([3])


def test_growth_per_round_trip_does_not_depend_on_the_sampling_interval():
    """A packet every 20 ms, five in a round trip of 100 ms."""
    data = windows(*[(1.0 + step / 50, 10 + step, 100.0, "open") for step in range(20)])
    assert REGISTRY["aggressiveness"].compute(data)["growth_packets_per_rtt"].to_list() == pytest.approx([5])


def test_an_rtt_without_samples_gives_no_growth():
    data = windows(*[(1.0 + step / 50, 10 + step, 1000.0, "open") for step in range(20)])
    assert REGISTRY["aggressiveness"].compute(data)["growth_packets_per_rtt"].to_list() == [None]


def test_rates_an_engine_does_not_report_are_left_out():
    data = rates([40, 40, 40, 40])
    samples = [row | {"delivered_bytes": None} for row in data.samples.collect().to_dicts()]
    recorded = data.samples.collect().to_dicts()
    silent = by_hand(
        runs=[*data.runs.collect().to_dicts(), run_row(1)],
        flows=[flow_row(0, 0), flow_row(1, 0)],
        samples=[*recorded, *[row | {"run": 1} for row in samples]],
    )
    assert REGISTRY["smoothness"].compute(silent)["run"].to_list() == [0]
    assert math.isclose(REGISTRY["smoothness"].compute(silent)["goodput_cov"][0], 0, abs_tol=1e-9)


def test_goodput_by_decade_is_the_total_of_all_flows():
    """Goodputs are 30 and 10 for 20 s, except 10 and 0 in the first second, then 60 and 10 for 10 s."""
    data = rates([10, *[30] * 9, *[60] * 10], [0, *[10] * 19])
    rows = REGISTRY["goodput_by_decade"].compute(data).rows()
    assert rows == [
        (0, 0.0, 1.0, pytest.approx(10 * MBIT)),
        (0, 1.0, 10.0, pytest.approx(40 * MBIT)),
        (0, 10.0, 20.0, pytest.approx(70 * MBIT)),
    ]


def test_a_decade_before_the_first_sample_is_omitted():
    data = rates([10] * 20)
    late = data.samples.filter(pl.col("time_s") >= 5)
    rows = REGISTRY["goodput_by_decade"].compute(replace(data, samples=late)).rows()
    assert [row[:3] for row in rows] == [(0, 10.0, 20.0)]
