"""The verdict on a pair, in cases computed by hand."""

import re

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.metrics import REGISTRY, pairs

compute = REGISTRY["coexistence"].compute

Pair = tuple[str, str, float, float]


def pair_runs(*rows: Pair) -> PlausibleDataset:
    """Return one run per row: first and second algorithm, and the goodput of each in Mbit/s."""
    return repeated([[row] for row in rows])


def six_times(*rows: Pair) -> PlausibleDataset:
    """Return one point per row with six equal runs."""
    return repeated([[row] * 6 for row in rows])


def repeated(points: list[list[Pair]]) -> PlausibleDataset:
    """Return one point per list, with one run per row."""
    runs, flows = [], []
    for point, rows in enumerate(points):
        for repetition, (first, second, first_mbit_per_s, second_mbit_per_s) in enumerate(rows):
            axes = {"flows.0.algorithm": first, "flows.1.algorithm": second}
            run = len(runs)
            runs.append(run_row(run, **axes) | {"point": point, "repetition": repetition})
            flows.append(flow_row(run, 0, algorithm=first, goodput_bit_per_s=first_mbit_per_s * 1e6))
            flows.append(flow_row(run, 1, algorithm=second, goodput_bit_per_s=second_mbit_per_s * 1e6))
    return by_hand(runs=runs, flows=flows)


def reno_runs(*smaller_shares: float) -> PlausibleDataset:
    """Return one pair of Reno flows, with one run per fraction of 100 Mbit/s that the first flow has."""
    return repeated([[("reno", "reno", 100 * share, 100 * (1 - share)) for share in smaller_shares]])


def verdict_of(data: PlausibleDataset) -> tuple[str, str | None]:
    [row] = compute(data).select("verdict", "reason").iter_rows()
    return row


@pytest.mark.parametrize(
    ("first_mbit_per_s", "second_mbit_per_s", "verdict"),
    [
        (46, 57, "yes"),  # 46 / 103 = 0.447
        (58, 45, "yes"),  # 45 / 103 = 0.437
        (41, 62, "no"),  # 41 / 103 = 0.398
        (43, 57, "yes"),  # exactly at the threshold
    ],
)
def test_verdicts_of_the_study_are_reproduced(
    first_mbit_per_s: float, second_mbit_per_s: float, verdict: str
):
    assert verdict_of(six_times(("reno", "cubic", first_mbit_per_s, second_mbit_per_s))) == (verdict, None)


def test_a_pair_whose_verdict_changes_with_the_order_depends_on_it():
    table = compute(pair_runs(("illinois", "yeah", 50, 50), ("yeah", "illinois", 10, 90)))
    assert table["verdict"].to_list() == ["yes", "no"]
    assert table["verdict_both_orders"].to_list() == ["depends on the order"] * 2


def test_a_pair_with_one_verdict_for_both_orders_keeps_it():
    table = compute(pair_runs(("vegas", "reno", 10, 90), ("reno", "vegas", 90, 10), ("reno", "reno", 50, 50)))
    assert table["verdict_both_orders"].to_list() == ["no", "no", "yes"]


def test_an_unclear_order_makes_the_verdict_on_both_orders_unclear():
    table = compute(pair_runs(("vegas", "reno", 40, 60), ("reno", "vegas", 90, 10)))
    assert table["verdict"].to_list() == ["unclear", "no"]
    assert table["verdict_both_orders"].to_list() == ["unclear", "unclear"]


def test_without_the_other_order_no_verdict_on_both_orders_is_given():
    assert compute(pair_runs(("vegas", "reno", 10, 90)))["verdict_both_orders"].to_list() == [None]


def test_flows_that_alternate_in_dominating_do_not_share_fairly():
    """The shares of each repetition are 90 to 10; their mean, 0.5, would hide that."""
    table = compute(repeated([[("reno", "reno", 90, 10), ("reno", "reno", 10, 90)] * 3]))
    assert table["smaller_share"].to_list() == pytest.approx([0.1])
    assert table["verdict"].to_list() == ["no"]


def test_a_verdict_is_unclear_while_its_interval_holds_the_threshold():
    """The interval of six runs is their range; that of ten runs spans the second to the ninth value."""
    assert verdict_of(reno_runs(0.42, 0.45, 0.46, 0.47, 0.48, 0.49)) == ("unclear", "spread")
    assert verdict_of(reno_runs(0.44, 0.45, 0.46, 0.47, 0.48, 0.49)) == ("yes", None)
    assert verdict_of(reno_runs(0.1, 0.2, 0.3, 0.3, 0.3, 0.44)) == ("unclear", "spread")
    ten = [0.1, 0.44, 0.45, 0.46, 0.46, 0.46, 0.47, 0.48, 0.49, 0.5]
    table = compute(reno_runs(*ten))
    assert table.select("runs", "smaller_share_low", "smaller_share_high", "verdict").rows() == [
        (10, pytest.approx(0.44), pytest.approx(0.49), "yes")
    ]


def test_too_few_runs_give_a_verdict_only_far_from_the_threshold():
    """The margin is 0.05: yes from 0.48, no below 0.38, in every run."""
    assert verdict_of(reno_runs(0.485)) == ("yes", None)
    assert verdict_of(reno_runs(0.47)) == ("unclear", "too few runs")
    assert verdict_of(reno_runs(0.375)) == ("no", None)
    assert verdict_of(reno_runs(0.1, 0.1, 0.39)) == ("unclear", "too few runs")


def with_halves(first: float, second: float) -> PlausibleDataset:
    """Return six runs of two flows at 100 Mbit/s in total, with this share in each half of 20 to 60 s."""
    runs, flows, samples = [], [], []
    for run in range(6):
        runs.append(run_row(run) | {"point": 0, "repetition": run})
        for flow, (early, late) in enumerate([(first, second), (1 - first, 1 - second)]):
            flows.append(flow_row(run, flow, goodput_bit_per_s=100e6 * (early + late) / 2))
            for time_s in range(61):
                done_bit = 100e6 * (early * min(time_s, 40) + late * max(0, time_s - 40))
                samples.append(
                    {"run": run, "flow": flow, "time_s": float(time_s), "delivered_bytes": int(done_bit / 8)}
                )
    return by_hand(runs=runs, flows=flows, samples=samples)


def test_converging_flows_have_no_verdict():
    """The share is 0.29, then 0.41, 0.35 on average: unfair, but rising by 0.12."""
    assert verdict_of(with_halves(0.29, 0.41)) == ("unclear", "not converged")
    assert verdict_of(with_halves(0.40, 0.44)) == ("unclear", "not converged")


def test_diverging_flows_are_not_fair():
    assert verdict_of(with_halves(0.49, 0.40)) == ("unclear", "not converged")


def test_a_steady_share_has_its_verdict():
    table = compute(with_halves(0.30, 0.32))
    assert table["verdict"].to_list() == ["no"]
    assert table["smaller_share_drift"].to_list() == pytest.approx([0.02], abs=1e-6)
    assert verdict_of(with_halves(0.49, 0.47)) == ("yes", None)
    assert verdict_of(with_halves(0.30, 0.10)) == ("no", None)  # moving away from fairness


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
    assert table["verdict_both_orders"].to_list() == ["yes", "no"]


def test_runs_of_three_flows_have_no_verdict():
    flows = [flow_row(0, flow, goodput_bit_per_s=30e6) for flow in range(3)]
    data = by_hand(runs=[run_row(0)], flows=flows)
    assert pairs(data).is_empty()
    assert compute(data).is_empty()


def test_the_definition_states_threshold_margin_and_drift():
    assert re.findall(r"0\.\d+", REGISTRY["coexistence"].definition) == ["0.43", "0.05", "0.1"]
