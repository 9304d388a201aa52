"""The verdict on a pair, on cases worked by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.metrics import REGISTRY, pairs

compute = REGISTRY["coexistence"].compute


def pair_runs(*rows: tuple[str, str, float, float]) -> PlausibleDataset:
    """One run a row: first and second algorithm, and what each got, in Mbit/s."""
    runs, flows = [], []
    for run, (first, second, mine, theirs) in enumerate(rows):
        runs.append(run_row(run, **{"flows.0.algorithm": first, "flows.1.algorithm": second}))
        flows.append(flow_row(run, 0, algorithm=first, goodput_bit_per_s=mine * 1e6))
        flows.append(flow_row(run, 1, algorithm=second, goodput_bit_per_s=theirs * 1e6))
    return by_hand(runs=runs, flows=flows)


@pytest.mark.parametrize(
    ("mine", "theirs", "verdict"),
    [
        (46, 57, "co-exist"),  # 46 / 103 = 0.447
        (58, 45, "co-exist"),  # 45 / 103 = 0.437
        (41, 62, "do not"),  # 41 / 103 = 0.398
        (43, 57, "co-exist"),  # exactly at the threshold
    ],
)
def test_verdicts_of_the_study_are_reproduced(mine: float, theirs: float, verdict: str):
    assert compute(pair_runs(("reno", "cubic", mine, theirs)))["verdict"].to_list() == [verdict]


def test_a_pair_whose_verdict_changes_with_the_order_depends_on_it():
    table = compute(pair_runs(("illinois", "yeah", 50, 50), ("yeah", "illinois", 10, 90)))
    assert table["verdict"].to_list() == ["co-exist", "do not"]
    assert table["verdict_both_orders"].to_list() == ["depends on the order"] * 2


def test_a_pair_with_one_verdict_for_both_orders_keeps_it():
    table = compute(pair_runs(("vegas", "reno", 10, 90), ("reno", "vegas", 90, 10), ("reno", "reno", 50, 50)))
    assert table["verdict_both_orders"].to_list() == ["do not", "do not", "co-exist"]


def test_without_the_other_order_nothing_is_said_of_both():
    assert compute(pair_runs(("vegas", "reno", 10, 90)))["verdict_both_orders"].to_list() == [None]


def test_flows_that_take_turns_in_winning_do_not_co_exist():
    """Each repetition is 90 to 10; the mean of the shares, 0.5, would hide it."""
    rows = [("reno", "reno", 90, 10), ("reno", "reno", 10, 90)]
    data = pair_runs(*rows)
    runs = data.runs.collect().with_columns(point=0)
    table = compute(by_hand(runs=runs.to_dicts(), flows=data.flows.collect().to_dicts()))
    assert table["smaller_share"].to_list() == pytest.approx([0.1])
    assert table["verdict"].to_list() == ["do not"]


def test_a_pair_that_delivers_nothing_has_no_verdict():
    assert compute(pair_runs(("reno", "cubic", 0, 0)))["verdict"].to_list() == [None]


def test_orders_are_compared_within_one_network():
    axes = {"flows.0.algorithm": "reno", "flows.1.algorithm": "reno"}
    runs = [run_row(run, **axes, **{"path.rtt": rtt}) for run, rtt in enumerate(["10 ms", "80 ms"])]
    flows = [
        flow_row(run, flow, goodput_bit_per_s=goodput)
        for run, goodputs in enumerate([(50e6, 50e6), (10e6, 90e6)])
        for flow, goodput in enumerate(goodputs)
    ]
    table = compute(by_hand(runs=runs, flows=flows))
    assert table["slice"].to_list() == ["path.rtt = 10 ms", "path.rtt = 80 ms"]
    assert table["verdict_both_orders"].to_list() == ["co-exist", "do not"]


def test_runs_of_three_flows_are_no_pairs():
    flows = [flow_row(0, flow, goodput_bit_per_s=30e6) for flow in range(3)]
    data = by_hand(runs=[run_row(0)], flows=flows)
    assert pairs(data).is_empty()
    assert compute(data).is_empty()
