"""Metrics of the bottleneck, on cases worked by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.metrics import REGISTRY


def link_row(time_s: float, mean: float, utilisation: float, **others: object) -> dict:
    return {
        "run": 0,
        "link": "bottleneck",
        "time_s": time_s,
        "mean_backlog_packets": mean,
        "max_backlog_packets": int(mean * 2),
        "utilisation": utilisation,
        **others,
    }


@pytest.fixture
def uneven_intervals() -> PlausibleDataset:
    """Return rows of 20, 10 and 30 s, the first of them before the steady interval."""
    return by_hand(
        runs=[run_row(0)],
        links=[
            link_row(20.0, 300.0, 0.5),
            link_row(30.0, 40.0, 1.0),
            link_row(60.0, 80.0, 0.9),
            link_row(30.0, 5.0, 0.01, link="bottleneck-reverse"),
        ],
    )


def test_mean_queue_is_weighted_by_time(uneven_intervals: PlausibleDataset):
    """(40 · 10 + 80 · 30) / 40 = 70 packets; at 100 Mbit/s a packet takes 0.12 ms, so 8.4 ms."""
    table = REGISTRY["queue"].compute(uneven_intervals)
    assert table["queue_mean_packets"].to_list() == [70.0]
    assert table["queue_mean_ms"].to_list() == pytest.approx([8.4])


def test_largest_queue_is_of_the_steady_interval_only(uneven_intervals: PlausibleDataset):
    """160 packets, 160 · 0.12 = 19.2 ms; the 600 before the steady interval do not count."""
    table = REGISTRY["queue"].compute(uneven_intervals)
    assert table["queue_max_packets"].to_list() == [160.0]
    assert table["queue_max_ms"].to_list() == pytest.approx([19.2])


def test_utilisation_is_weighted_by_time(uneven_intervals: PlausibleDataset):
    """(1.0 · 10 + 0.9 · 30) / 40 = 0.925."""
    assert REGISTRY["utilisation"].compute(uneven_intervals)["utilisation"].to_list() == pytest.approx(
        [0.925]
    )


def test_rows_an_engine_does_not_report_have_no_weight():
    """20 s at 0.8 with 30 packets, 10 s not reported, 10 s at 0.5 with 60: 21 / 30 and 1200 / 30."""
    data = by_hand(
        runs=[run_row(0)],
        links=[
            link_row(20.0, 0.0, 0.1),
            link_row(40.0, 30.0, 0.8),
            {**link_row(50.0, 0.0, 0.0), "utilisation": None, "mean_backlog_packets": None},
            link_row(60.0, 60.0, 0.5),
        ],
    )
    assert REGISTRY["utilisation"].compute(data)["utilisation"].to_list() == pytest.approx([0.7])
    assert REGISTRY["queue"].compute(data)["queue_mean_packets"].to_list() == pytest.approx([40.0])


def test_throughput_counts_bytes_that_the_link_carried_in_the_steady_interval():
    """400 MB in 40 s are 80 Mbit/s."""
    rows = [
        link_row(time_s, 0.0, 1.0, delivered_bytes=carried)
        for time_s, carried in [(10.0, 50_000_000), (20.0, 100_000_000), (60.0, 500_000_000), (70.0, 9e9)]
    ]
    data = by_hand(runs=[run_row(0)], links=rows)
    assert REGISTRY["throughput"].compute(data)["throughput_bit_per_s"].to_list() == [80e6]


def test_throughput_from_time_0_starts_at_zero_bytes():
    data = by_hand(
        runs=[run_row(0, steady_from_s=0.0, steady_to_s=10.0)],
        links=[link_row(10.0, 0.0, 1.0, delivered_bytes=10_000_000)],
    )
    assert REGISTRY["throughput"].compute(data)["throughput_bit_per_s"].to_list() == [8e6]


def test_queueing_delay_quantiles_are_weighted_by_time():
    """The delay is 1 ms for 20 of 40 s, 2 ms for 16 s and 8 ms for 4 s: median 1, 75 % 2, 95 % 8 ms.

    At 100 Mbit/s a millisecond is 12500 bytes.
    """
    rows = [
        link_row(time_s, 0.0, 1.0, backlog_bytes=backlog)
        for time_s, backlog in [(20.0, 0), (40.0, 12_500), (56.0, 25_000), (60.0, 100_000)]
    ]
    row = REGISTRY["queueing_delay"].compute(by_hand(runs=[run_row(0)], links=rows)).row(0, named=True)
    assert {name: row[f"queueing_delay_{name}_ms"] for name in ("p05", "p50", "p75", "p95")} == {
        "p05": 1.0,
        "p50": 1.0,
        "p75": 2.0,
        "p95": 8.0,
    }


def test_the_standing_queue_is_the_smallest_backlog_of_each_window():
    """Backlogs of 9 to 5 packets in the first second, of 7 to 3 in the second: (5 + 3) / 2, or 0.48 ms."""
    backlogs = [50, 9, 8, 7, 6, 5, 7, 6, 5, 4, 3, 0, 0]
    rows = [
        link_row(20 + step / 5, 0.0, 1.0, backlog_packets=backlog) for step, backlog in enumerate(backlogs)
    ]
    data = by_hand(runs=[run_row(0, steady_to_s=22.0)], links=rows)
    row = REGISTRY["standing_queue"].compute(data).row(0)
    assert row == (0, 4.0, pytest.approx(0.48))


def test_windows_of_the_standing_queue_grow_with_the_sampling():
    """Rows every second: windows of 5 s, so 8 of them in 40 s, each with its own smallest backlog, 0 to 7."""
    rows = [
        link_row(20.0 + second, 0.0, 1.0, backlog_packets=(second - 1) // 5 + (second % 5))
        for second in range(41)
    ]
    data = by_hand(runs=[run_row(0)], links=rows)
    assert REGISTRY["standing_queue"].compute(data)["standing_queue_packets"].to_list() == [3.5]


def test_full_use_is_reached_at_the_end_of_the_first_full_row():
    """The first flow starts at 1 s; the row that ends at 4 s is the first with 95 %."""
    rows = [link_row(float(second), 0.0, use) for second, use in enumerate([0, 0.2, 0.5, 0.94, 0.95, 1.0])]
    flows = [flow_row(0, 0, start_s=1.0), flow_row(0, 1, start_s=2.0)]
    data = by_hand(runs=[run_row(0)], flows=flows, links=rows)
    assert REGISTRY["time_to_full_use"].compute(data).rows() == [(0, 3.0)]


def test_one_busy_millisecond_is_not_full_use():
    """The link is busy for one of every ten milliseconds, and always from 0.2 s on."""
    rows = [
        link_row(step / 100 + ms, 0.0, use) for step in range(20) for ms, use in [(0.001, 1.0), (0.01, 0.0)]
    ]
    rows += [link_row(0.2 + step / 100, 0.0, 1.0) for step in range(1, 11)]
    data = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0)], links=rows)
    assert REGISTRY["time_to_full_use"].compute(data).rows() == [(0, pytest.approx(0.3))]


def test_a_link_that_is_never_full_has_no_time_to_full_use():
    rows = [link_row(float(second), 0.0, 0.9) for second in range(5)]
    data = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0)], links=rows)
    assert REGISTRY["time_to_full_use"].compute(data).rows() == [(0, None)]
