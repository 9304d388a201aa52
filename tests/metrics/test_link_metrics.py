"""Metrics of the bottleneck, on cases worked by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, run_row
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
    """Rows that stand for 20, 10 and 30 s; the first lies before the steady interval."""
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
