"""Metrics that compare pairs with other pairs, in cases computed by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY


def pairs(*rows: tuple[str, str, float | None, float | None]) -> PlausibleDataset:
    """Return one run per row: first and second algorithm, and the goodput of each in Mbit/s."""
    runs, flows = [], []
    for run, (first, second, *rates) in enumerate(rows):
        runs.append(run_row(run, **{"flows.0.algorithm": first, "flows.1.algorithm": second}))
        for flow, (algorithm, rate) in enumerate(zip((first, second), rates, strict=True)):
            goodput = None if rate is None else rate * 1e6
            flows.append(flow_row(run, flow, algorithm=algorithm, goodput_bit_per_s=goodput))
    return by_hand(runs=runs, flows=flows)


ONE_FLOW = by_hand(runs=[run_row(0)], flows=[flow_row(0, 0)])


def test_the_order_effect_is_the_difference_of_an_algorithms_shares():
    """Reno has 0.7 as the first and 0.4 as the second flow: 0.3. BIC: 0.6 - 0.3. Reno with itself: 0.2."""
    data = pairs(("reno", "bic", 70, 30), ("bic", "reno", 60, 40), ("reno", "reno", 60, 40))
    assert REGISTRY["order_effect"].compute(data)["order_effect"].to_list() == pytest.approx([0.3, 0.3, 0.2])


def test_a_pair_with_one_order_has_no_order_effect():
    data = pairs(("reno", "bic", 70, 30), ("reno", "reno", 60, 40))
    gains = REGISTRY["order_effect"].compute(data)["order_effect"].to_list()
    assert gains == [None, pytest.approx(0.2)]


@pytest.mark.parametrize("metric", ["order_effect", "friendliness", "groups"])
def test_runs_of_one_flow_are_refused_with_what_is_missing(metric: str):
    with pytest.raises(TussleError, match=f"^{metric} needs .*, and this dataset has (none|others); "):
        REGISTRY[metric].compute(ONE_FLOW)


def test_missing_orders_are_reported():
    with pytest.raises(TussleError, match="both orders of start"):
        REGISTRY["order_effect"].compute(pairs(("reno", "bic", 70, 30)))


def test_friendliness_is_renos_goodput_relative_to_reno_against_reno():
    """Reno as the second flow has 20 beside BIC and 40 beside Reno; as the first, 45 and 50."""
    data = pairs(("reno", "reno", 50, 40), ("bic", "reno", 70, 20), ("reno", "bic", 45, 45))
    table = REGISTRY["friendliness"].compute(data)
    assert table.rows() == [
        (0, 0, "reno", 1.0),
        (0, 1, "reno", 1.0),
        (1, 0, "reno", 0.5),
        (2, 1, "reno", 0.9),
    ]


def test_friendliness_towards_cubic_is_computed():
    """CUBIC has 30 beside Vegas and 60 beside CUBIC; Reno was not run against itself."""
    data = pairs(("cubic", "cubic", 60, 40), ("cubic", "vegas", 30, 70), ("reno", "vegas", 80, 20))
    table = REGISTRY["friendliness"].compute(data)
    assert table.rows()[2:] == [(1, 1, "cubic", 0.5), (2, 1, "reno", None)]


def test_groups_are_the_largest_sets_whose_pairs_share_fairly():
    """A shares fairly with B and C, B with C, C with D: {A, B, C} and {C, D}; E shares with no other."""
    fair, unfair = (50, 50), (90, 10)
    shared = {("a", "b"), ("a", "c"), ("b", "c"), ("c", "d")}
    rows = [
        (first, second, *(fair if (first, second) in shared else unfair))
        for number, first in enumerate("abcde")
        for second in "abcde"[number + 1 :]
    ]
    table = REGISTRY["groups"].compute(pairs(*rows))
    assert table.rows() == [("", 0, 3, "a, b, c"), ("", 1, 2, "c, d"), ("", 2, 1, "e")]


def test_algorithms_that_share_fairly_in_one_order_only_are_in_no_common_group():
    data = pairs(("a", "b", 50, 50), ("b", "a", 90, 10))
    assert REGISTRY["groups"].compute(data)["algorithms"].to_list() == ["a", "b"]


def test_a_pair_without_a_verdict_is_no_group():
    assert REGISTRY["groups"].compute(pairs(("a", "b", 0, 0)))["algorithms"].to_list() == ["a", "b"]


def test_unknown_goodput_gives_no_verdict_and_no_share():
    data = pairs(("reno", "bic", None, 30))
    assert REGISTRY["coexistence"].compute(data)["verdict"].to_list() == [None]
    assert REGISTRY["share"].compute(data)["share"].to_list() == [None, None]
    assert REGISTRY["jain"].compute(data)["jain_index"].to_list() == [None]
    assert REGISTRY["total"].compute(data)["total_goodput_bit_per_s"].to_list() == [None]
