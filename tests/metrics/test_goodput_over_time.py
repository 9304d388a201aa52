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


def test_bytes_are_neither_lost_nor_made_by_longer_intervals():
    """3001 samples become intervals of 2 s / 300 → 0.2 s; the sum over them is all that was delivered."""
    table = series(*[(step / 50, step * 1000) for step in range(3001)])
    assert table["interval_s"].unique().to_list() == [0.2]
    assert (table["goodput_bit_per_s"] * table["interval_s"] / 8).sum() == pytest.approx(3_000_000)


def test_samples_on_change_are_read_as_the_last_value_known():
    table = series((0.0, 0), (0.05, 1000), (0.9, 3000), (1.0, 3000), (2.0, 3000))
    assert table["goodput_bit_per_s"].sum() * table["interval_s"][0] / 8 == pytest.approx(3000)


def test_nothing_is_shown_before_a_flow_starts():
    table = series((0.0, 0), (10.0, 0), (20.0, 10), (30.0, 20), start_s=10.0)
    assert table["time_s"].to_list() == pytest.approx([15.0, 25.0])


def test_without_samples_the_series_is_empty():
    empty = {"run": pl.UInt32, "flow": pl.UInt32, "time_s": pl.Float64, "delivered_bytes": pl.UInt64}
    data = by_hand(flows=[flow_row(0, 0)])
    assert compute(
        type(data)(data.runs, data.flows, pl.LazyFrame(schema=empty), data.links, data.events)
    ).is_empty()
