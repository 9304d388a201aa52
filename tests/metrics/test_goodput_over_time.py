"""Goodput over time, on cases worked by hand."""

import polars as pl
import pytest

from plausible import by_hand, flow_row, run_row
from tussle.metrics import REGISTRY

compute = REGISTRY["goodput_over_time"].compute


def series(*points: tuple[float, int], start_s: float = 0.0) -> pl.DataFrame:
    samples = [
        {"run": 0, "flow": 0, "time_s": time, "delivered_bytes": delivered} for time, delivered in points
    ]
    data = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0, start_s=start_s)], samples=samples)
    return compute(data)


def test_each_interval_has_the_rate_of_its_own_bytes():
    """250 kB in 0.2 s are 10 Mbit/s, 50 kB are 2 Mbit/s."""
    table = series((0.0, 0), (0.2, 250_000), (0.4, 300_000))
    assert table["time_s"].to_list() == pytest.approx([0.1, 0.3])
    assert table["goodput_bit_per_s"].to_list() == pytest.approx([10e6, 2e6])


def test_longer_intervals_preserve_the_number_of_bytes():
    """30001 samples over 600 s become 300 intervals of 2 s, whose sum equals the delivered bytes."""
    table = series(*[(step / 50, step * 1000) for step in range(30_001)])
    assert table["interval_s"].unique().to_list() == [2.0]
    assert (table["goodput_bit_per_s"] * table["interval_s"] / 8).sum() == pytest.approx(30_000_000)


def test_intervals_between_samples_are_interpolated():
    """Samples every 0.3 s at an even 8 Mbit/s stay even in intervals of 0.5 s."""
    table = series(*[(step * 3 / 10, step * 300_000) for step in range(6)])
    assert table["interval_s"].unique().to_list() == [0.5]
    assert table["goodput_bit_per_s"].to_list() == pytest.approx([8e6] * 3)


def test_an_interval_holds_four_round_trips_through_a_full_buffer():
    """333 packets of 12 kbit at 100 Mbit/s and 40 ms are 80 ms; four of them, 320 ms, round up to 0.5 s."""
    table = series(*[(step / 10, step * 1000) for step in range(601)])
    assert table["interval_s"].unique().to_list() == [0.5]


def test_a_short_run_still_has_sixty_intervals():
    table = series(*[(step / 100, step * 1000) for step in range(601)])
    assert len(table) == 60


def test_the_series_is_empty_before_its_flow_starts():
    table = series((0.0, 0), (10.0, 0), (20.0, 10), (30.0, 20), start_s=10.0)
    assert table["time_s"].to_list() == pytest.approx([15.0, 25.0])


def test_without_samples_the_series_is_empty():
    empty = {"run": pl.UInt32, "flow": pl.UInt32, "time_s": pl.Float64, "delivered_bytes": pl.UInt64}
    data = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0)])
    assert compute(
        type(data)(data.runs, data.flows, pl.LazyFrame(schema=empty), data.links, data.events)
    ).is_empty()
