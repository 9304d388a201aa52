"""Medians and their intervals, in cases computed by hand and against theory."""

from itertools import pairwise

import numpy as np
import polars as pl
import pytest

from plausible import by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY
from tussle.statistics import (
    LEAST,
    estimate,
    estimates,
    paired_difference,
    pooled_estimates,
    unpaired_difference,
)


def test_quartiles_are_interpolated():
    """The values are 10, 20, 30, 50: median 25; 10 + 0.75 · 10 = 17.5 and 30 + 0.25 · 20 = 35."""
    found = estimate([50, 10, 30, 20])
    assert (found.count, found.q1, found.median, found.q3) == (4, 17.5, 25.0, 35.0)


def test_an_interval_needs_six_values():
    """Five values are on one side of the median by chance in 2 · 2^-5 = 6 % of cases, six values in 3 %."""
    assert LEAST == 6
    assert estimate([1, 2, 3, 4, 5]).low is None
    found = estimate([1, 2, 3, 4, 5, 6])
    assert found.low is not None
    assert found.high is not None
    assert 1 <= found.low < found.median < found.high <= 6


def test_equal_values_have_an_interval_of_width_0():
    found = estimate([7.0] * 6)
    assert (found.low, found.high) == (7.0, 7.0)


def test_an_estimate_of_no_values_is_refused():
    with pytest.raises(ValueError, match="no values"):
        estimate([])


def test_the_same_values_have_the_same_interval():
    values = [3.1, 4.7, 2.2, 8.4, 5.0, 6.6, 1.9]
    assert estimate(values) == estimate(values)


def test_intervals_cover_the_median_at_their_confidence_level():
    """The 95 % intervals of 200 samples of 15 from a skewed distribution mostly contain its median, ln 2.

    The coverage of a percentile bootstrap is inexact at such sizes; below 90 % is a fault.
    """
    rng = np.random.default_rng(5)
    found = [estimate(rng.exponential(size=15).tolist()) for _ in range(200)]
    held = [
        each.low <= np.log(2) <= each.high for each in found if each.low is not None and each.high is not None
    ]
    assert len(held) == 200
    assert np.mean(held) > 0.9


def test_paired_differences_remove_common_variation():
    """Values range from 10 to 60 with the seed; the change adds 1 in each pair."""
    first = [10, 20, 30, 40, 50, 60]
    found = paired_difference(first, [value + 1 for value in first])
    assert (found.difference, found.low, found.high, found.runs, found.is_paired) == (1, 1, 1, 6, True)
    without_pairs = unpaired_difference(first, [value + 1 for value in first])
    assert without_pairs.low is not None
    assert without_pairs.high is not None
    assert without_pairs.low < 0 < without_pairs.high


def test_samples_that_do_not_overlap_differ():
    found = unpaired_difference([1, 2, 3, 4, 5, 6, 7], [11, 12, 13, 14, 15, 16])
    assert (found.first, found.second, found.difference, found.runs) == (4, 13.5, 9.5, 6)
    assert found.low is not None
    assert found.low > 0


def test_too_few_runs_give_a_difference_without_an_interval():
    assert paired_difference([1.0], [2.0]).low is None
    assert unpaired_difference([1, 2, 3], [4, 5, 6]).high is None


def data(*goodputs: tuple[float | None, ...]):
    """Return one point whose repetitions have these goodputs of the flows."""
    runs = [run_row(run, point=0, repetition=run) for run in range(len(goodputs))]
    flows = [
        flow_row(run, flow, goodput_bit_per_s=goodput)
        for run, both in enumerate(goodputs)
        for flow, goodput in enumerate(both)
    ]
    return by_hand(runs=runs, flows=flows)


def test_a_metric_gets_its_intervals_beside_its_quartiles():
    table = estimates(REGISTRY["goodput"], data(*[(float(value), 7.0) for value in (1, 2, 3, 4, 5, 6)]))
    assert table.columns == [
        "point",
        "flow",
        "repetitions",
        *(f"goodput_bit_per_s{part}" for part in ("", "_q1", "_q3", "_low", "_high")),
    ]
    first = table.row(0, named=True)
    assert (first["repetitions"], first["goodput_bit_per_s"], first["goodput_bit_per_s_q1"]) == (6, 3.5, 2.25)
    assert 1 <= first["goodput_bit_per_s_low"] < 3.5 < first["goodput_bit_per_s_high"] <= 6
    assert table.row(1)[2:] == (6, 7.0, 7.0, 7.0, 7.0, 7.0)


def test_estimates_agree_with_the_summary_of_a_metric():
    from tussle.metrics import summarise

    tables = data((1.0, 9.0), (4.0, 5.0), (2.0, 6.0))
    columns = [
        "point",
        "flow",
        "repetitions",
        "goodput_bit_per_s",
        "goodput_bit_per_s_q1",
        "goodput_bit_per_s_q3",
    ]
    found = estimates(REGISTRY["goodput"], tables).select(columns)
    assert found.rows() == summarise(REGISTRY["goodput"], tables).select(columns).rows()


def test_unknown_cells_are_ignored():
    row = estimates(REGISTRY["goodput"], data((None,), (3.0,), (5.0,))).row(0, named=True)
    assert (row["repetitions"], row["goodput_bit_per_s"]) == (2, 4.0)


def pairs(*rows: tuple[str, str, float, float]):
    runs, flows = [], []
    for run, (first, second, *rates) in enumerate(rows):
        runs.append(run_row(run, **{"flows.0.algorithm": first, "flows.1.algorithm": second}))
        for flow, (algorithm, rate) in enumerate(zip((first, second), rates, strict=True)):
            flows.append(flow_row(run, flow, algorithm=algorithm, goodput_bit_per_s=rate))
    return by_hand(runs=runs, flows=flows)


def test_both_orders_are_pooled():
    """Reno has 70 and 40 beside BIC: median 55. BIC has 30 and 60: 45. Reno beside itself 60 and 40: 50."""
    tables = pairs(("reno", "bic", 70, 30), ("bic", "reno", 60, 40), ("reno", "reno", 60, 40))
    table = pooled_estimates(REGISTRY["goodput"], tables)
    assert table.select("algorithm", "other", "goodput_bit_per_s").rows() == [
        ("bic", "reno", 45.0),
        ("reno", "bic", 55.0),
        ("reno", "reno", 50.0),
    ]


def test_a_metric_of_runs_is_pooled_to_one_row_a_pair():
    """Totals of 100 and 110."""
    tables = pairs(("reno", "bic", 70, 30), ("bic", "reno", 60, 50))
    table = pooled_estimates(REGISTRY["total"], tables)
    assert table.select("algorithm", "other", "repetitions", "total_goodput_bit_per_s").rows() == [
        ("bic", "reno", 2, 105.0)
    ]


@pytest.mark.parametrize("metric", ["coexistence", "goodput_over_time"])
def test_axes_without_order_are_not_pooled(metric: str):
    with pytest.raises(TussleError, match="no orders to pool"):
        pooled_estimates(REGISTRY[metric], pairs(("reno", "bic", 70, 30)))


def test_runs_of_one_flow_have_no_order():
    with pytest.raises(TussleError, match="no runs of two flows each"):
        pooled_estimates(REGISTRY["goodput"], data((1.0,)))


def test_rows_are_sorted_by_their_keys():
    tables = pairs(*[(first, second, 1.0, 2.0) for first in "cab" for second in "cab"])
    keys = pooled_estimates(REGISTRY["goodput"], tables).select(pl.struct("algorithm", "other")).to_series()
    assert all(tuple(a.values()) < tuple(b.values()) for a, b in pairwise(keys.to_list()))
