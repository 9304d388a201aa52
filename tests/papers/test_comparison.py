"""The comparison of published results with ours, in cases computed by hand."""

import math
from pathlib import Path

import pytest
from pydantic import ValidationError

from plausible import by_hand, flow_row, run_row
from tussle.papers import Study, both_orders, check, on_printed_numbers, rows, score, studies
from tussle.papers._compare import interval_of_mean, numbers
from tussle.papers._statements import _apart
from tussle.papers._study import Check, Column, Part, Statement
from tussle.predicates import Quantity

STUDY = Study.load("lan-pairs")
TABLE = STUDY.tables[0]


def pair(run: int, names: tuple[str, str], mbit_per_s: tuple[float, float], repetition: int = 0):
    axes = dict(zip(("flows.0.algorithm", "flows.1.algorithm"), names, strict=True))
    flows = [
        flow_row(run, flow, algorithm=name, goodput_bit_per_s=rate * 1e6)
        for flow, (name, rate) in enumerate(zip(names, mbit_per_s, strict=True))
    ]
    return run_row(run, point=run, repetition=repetition, **axes), flows


def lan(*pairs_):
    runs, flows = zip(*pairs_, strict=True)
    return {"sim": {"matrix": by_hand(runs=runs, flows=[flow for each in flows for flow in each])}}


def row_of(compared, first: str, second: str):
    keys = {"flows.0.algorithm": first, "flows.1.algorithm": second}
    return next(row for row in compared if row.keys == keys)


def test_the_lan_pairs_without_illinois_are_printed_alike_in_both_orders_except_three():
    cells = STUDY.published().filter(table=TABLE.name).to_dicts()
    printed = {(cell["flows.0.algorithm"], cell["flows.1.algorithm"]): cell for cell in cells}
    without = [pair for pair in printed if "illinois" not in pair and pair[0] < pair[1]]
    alike = [
        pair
        for pair in without
        if printed[pair]["first_mbit_per_s"] == printed[pair[::-1]]["second_mbit_per_s"]
        and printed[pair]["second_mbit_per_s"] == printed[pair[::-1]]["first_mbit_per_s"]
    ]
    assert (len(without), len(alike)) == (55, 52)
    assert "Of 55 pairs without Illinois, 52 are printed with the same two numbers" in TABLE.note


def test_our_value_is_shown_with_its_difference_from_the_published_one():
    """Printed: 66 and 37. Ours: 33 is half of 66 less, 37 as printed."""
    row = row_of(rows(STUDY, TABLE, lan(pair(0, ("htcp", "reno"), (33, 37)))), "htcp", "reno")
    assert row.published == {"first_mbit_per_s": 66, "second_mbit_per_s": 37}
    first, second = (row.found["sim"][name] for name in row.published)
    assert first.difference(66) == pytest.approx(-0.5)
    assert second.difference(37) == pytest.approx(0)
    assert (first.low, first.high, first.runs) == (None, None, 1)
    assert row.largest_difference("sim") == pytest.approx(0.5)


def test_studies_that_were_not_run_have_no_numbers():
    row = row_of(rows(STUDY, TABLE, lan(pair(0, ("htcp", "reno"), (33, 37)))), "reno", "htcp")
    assert row.found == {}
    assert row.verdicts == {}


def test_verdicts_follow_the_smaller_share():
    """Printed 66 and 37: 37 / 103 = 0.36 of it, less than 0.43. Ours 52 and 44: 44 / 96 = 0.46."""
    row = row_of(rows(STUDY, TABLE, lan(pair(0, ("htcp", "reno"), (52, 44)))), "htcp", "reno")
    assert row.verdict == "do not"
    assert row.verdicts == {"sim": "share fairly"}


def test_flows_that_alternate_in_dominating_do_not_share():
    """The means of 80 and 16, and of 16 and 80, are equal; in each run the smaller share is 0.17."""
    data = lan(
        pair(0, ("reno", "reno"), (80, 16)),
        pair(1, ("reno", "reno"), (16, 80), repetition=1),
    )
    assert row_of(rows(STUDY, TABLE, data), "reno", "reno").verdicts == {"sim": "do not"}


def test_the_interval_is_students_t():
    """Values 1 and 3: mean 2, deviation sqrt(2), error 1; t of one degree of freedom at 97.5 % is 12.706."""
    low, high = interval_of_mean([1.0, 3.0])
    assert (low, high) == (pytest.approx(2 - 12.706, abs=1e-3), pytest.approx(2 + 12.706, abs=1e-3))


def test_rank_correlation_depends_on_the_order_only():
    """Vegas first, printed 10 beside H-TCP, 13 beside BIC, 23 beside YeAH. The same order: 1. Turned: -1."""
    names = ("htcp", "bic", "yeah")
    for in_tussle, correlation in (((1, 2, 3), 1.0), ((3, 2, 1), -1.0)):
        data = lan(*(pair(run, ("vegas", names[run]), (in_tussle[run], 90)) for run in range(3)))
        found = score(TABLE, rows(STUDY, TABLE, data), "sim")
        assert found.spearman["first_mbit_per_s"] == pytest.approx(correlation)
        assert found.spearman["second_mbit_per_s"] is None  # 90 everywhere: no order
        assert found.cells == 6
        assert found.verdicts is not None
        assert (found.verdicts.rows, found.verdicts.agreeing, found.verdicts.kappa) == (3, 3, None)


def test_verdicts_stand_beside_chance_and_the_most_frequent_one():
    """Printed: one pair shares and three do not. Ours: the first and the second share. Agreement 3 of 4.

    By chance: (1/4 x 2/4) + (3/4 x 2/4) = 1/2, so that kappa is (3/4 - 1/2) / (1 - 1/2) = 1/2. Each pair with
    other numbers in the other order counts whole, and so do two flows of one variant.
    """
    data = lan(
        pair(0, ("reno", "reno"), (48, 48)),
        pair(1, ("htcp", "scalable"), (48, 48)),
        pair(2, ("westwood", "yeah"), (90, 6)),
        pair(3, ("illinois", "reno"), (90, 6)),
    )
    found = score(TABLE, rows(STUDY, TABLE, data), "sim").verdicts
    assert found is not None
    assert (found.rows, found.agreeing, found.baseline) == (4, 3, 3)
    assert found.kappa == pytest.approx(0.5)


def test_a_pair_that_is_printed_alike_in_both_orders_counts_once():
    """H-TCP and Reno: 66 and 37, and 37 and 66. One of our orders shares, the other does not: half agrees."""
    data = lan(pair(0, ("htcp", "reno"), (52, 44)), pair(1, ("reno", "htcp"), (20, 76)))
    found = score(TABLE, rows(STUDY, TABLE, data), "sim").verdicts
    assert found is not None
    assert (found.rows, found.agreeing) == (1, 0.5)


def test_ranks_are_compared_within_a_condition():
    """Ours orders two of three variants wrongly at either RTT; the longer RTT has less throughput in both."""
    study = Study.load("linux-variants")
    table = study.tables[0]
    rates = {"100 ms": {"reno": 9, "vegas": 8, "lp": 7}, "200 ms": {"reno": 3, "vegas": 2, "lp": 1}}
    runs, flows = [], []
    for rtt, by_name in rates.items():
        for name, rate in by_name.items():
            axes = {"path.rtt": rtt, "path.loss": "0.0001 %", "flows.0.algorithm": name}
            flows.append(flow_row(len(runs), 0, algorithm=name, goodput_bit_per_s=rate * 1e6))
            runs.append(run_row(len(runs), point=len(runs), **axes))
    found = score(table, rows(study, table, {"sim": {"gigabit": by_hand(runs=runs, flows=flows)}}), "sim")
    # Printed: 51, 57.62, 6.73 and 29.45, 27.94, 3.55. Ranks 2, 1, 3 of ours 1, 2, 3 give 0.5; the others 1.
    assert found.within["throughput_mbit_per_s"] == pytest.approx(0.75)
    assert (found.spearman["throughput_mbit_per_s"] or 0) == pytest.approx(27 / 35)


NOT_TRUE_OF_PRINT = {
    "buffer-provisioning": [
        "With 0.1 BDP, HighSpeed almost fills the link: more than 0.95 of it",
        "With 0.1 BDP, Scalable, BIC and CUBIC use more of the link than Reno",
        "Westwood+ does not prevail over Reno, wherever it stands",
    ],
    "hsdpa": [
        "Uplink, too, Westwood+ has the shortest RTTs",
        "Downlink, BIC and CUBIC differ much from Westwood+ and Reno",
        "Downlink, all flows together get about 1400 kbit/s",
        "Uplink, several flows of CUBIC get no more than those of the others",
    ],
    "lan-pairs": [
        "Two flows get slightly more than 100 Mbit/s together",
        "Vegas gets 8 to 13 Mbit/s beside any other",
        "Westwood keeps more than 80 Mbit/s, a share of 0.77, beside every variant but itself",
        "Westwood is the only variant that beats Illinois where Illinois joins it",
        "Illinois gets much more where it is first than where it joins, beside all but Westwood and Vegas",
        "Illinois does not share fairly with any other variant",
        "Scalable dominates every other variant but Westwood",
        "HighSpeed shares fairly with LP, Hybla, Reno and CUBIC",
        "CUBIC and YeAH share more evenly than H-TCP, Illinois, Scalable, BIC and HighSpeed",
    ],
    "linux-variants": [
        "In 300 s Hybla gets most",
        "In 300 s BIC, CUBIC, Scalable and H-TCP get least, but for LP",
        "In 300 s all but BIC, CUBIC, Scalable, H-TCP and LP are within a quarter",
        "Reno, Vegas and Veno get the same with a loss of 0.0001 % as with half of it",
        "With the tenfold loss Scalable, Illinois, YeAH and H-TCP keep less",
        "In 300 s Vegas gets a bit more than Reno",
        "In 300 s BIC gets more than Reno, Vegas, Veno and Westwood",
        "In 300 s Illinois gets slightly more than Scalable",
        "In 300 s YeAH gets slightly more than Scalable and Illinois",
        "In 300 s H-TCP gets what Hybla gets",
        "In 20 s Hybla gets much more than any other variant",
        "In 20 s LP is comparable with the other variants",
        "In 20 s how the variants compare depends on neither RTT nor loss",
        "On WiFi all variants are much alike",
        "With one end on satellite all variants are much alike",
        "With both ends on satellite Reno and Vegas are next to LP at the end",
        "With both ends on satellite the high-speed variants get more than any other",
        "With both ends on satellite Scalable strongly outperforms all others",
        "Short connections are less fair than long ones",
        "On wired networks Hybla and CUBIC do very well",
        "On wired networks Reno does well",
        "On wired networks LP usually gets least",
        "Reno is the fairest variant, over five minutes and in 20 s",
    ],
}
"""Beginnings of the conclusions that the numbers of their own study contradict, in whole or in part."""


@pytest.mark.slow
@pytest.mark.parametrize("name", [name for name in studies() if not Study.load(name).follows])
def test_conclusions_hold_on_the_printed_numbers_but_for_those_that_contradict_their_table(name: str):
    study = Study.load(name)
    on_print = {each.says: on_printed_numbers(study, each).answer for each in study.statements}
    contradicted = [says for says, answer in on_print.items() if answer in ("fails", "depends")]
    begin = NOT_TRUE_OF_PRINT[name]
    assert [says[: len(start)] for says, start in zip(contradicted, begin, strict=True)] == begin
    assert sum(answer == "holds" for answer in on_print.values()) >= len(on_print) // 4


def test_printed_sums_are_shared_by_the_flows_of_a_point():
    """CUBIC: 830 Mbit/s of ten flows from 10 to 100 s, 83 each."""
    study = Study.load("buffer-provisioning")
    [says] = [
        each for each in study.statements if each.says.startswith("Of ten flows, those of CUBIC use most")
    ]
    evidence = [case.evidence for case in on_printed_numbers(study, says).cases]
    assert evidence == ["cubic 83, highspeed 72", "westwood 62, highspeed 72"]


def test_the_verdict_on_both_orders_may_depend_on_the_order():
    """Illinois and BIC: printed 93 and 10 in one order, 53 and 51 in the other."""
    data = lan(pair(0, ("illinois", "bic"), (50, 45)), pair(1, ("bic", "illinois"), (50, 45)))
    [(words, in_paper, in_tussle)] = both_orders(rows(STUDY, TABLE, data), "sim")
    assert (words, in_paper, in_tussle) == ("bic and illinois", "depends on the order", "share fairly")


def statement(**changed) -> Statement:
    settings = {
        "part": "matrix",
        "words": "share",
        "quantity": Quantity(metric="share"),
        "pairs": "mixed",
        "of": ("vegas",),
        "relation": "<",
    }
    return Statement(says="", source="", checks=(Check(**{**settings, **changed}),))


VEGAS = lan(
    pair(0, ("vegas", "reno"), (10, 90)),
    pair(1, ("reno", "vegas"), (60, 40)),
    pair(2, ("reno", "bic"), (30, 70)),
)["sim"]


def test_a_statement_holds_fails_or_depends():
    """Vegas has 0.1 and 0.4, on average 0.25; Reno 0.9, 0.6 and 0.3, BIC 0.7."""
    assert check(statement(), VEGAS).answer == "holds"
    assert check(statement(relation=">"), VEGAS).answer == "fails"
    by_order = check(statement(than=0.2, by=("flows.0.algorithm",)), VEGAS)
    assert by_order.answer == "depends"
    assert [case.evidence for case in by_order.cases] == ["vegas 0.1, bound 0.2", "vegas 0.4, bound 0.2"]


def test_the_evidence_names_the_rival_that_decides():
    """Reno has 0.6 on average and BIC 0.7, so Reno is the closest rival of Vegas."""
    [case] = check(statement(), VEGAS).cases
    assert case.evidence == "vegas 0.25, reno 0.6"


def test_a_margin_moves_the_rival():
    """0.25 is less than 0.6, but not than a third of it, 0.2."""
    assert check(statement(margin=1 / 3), VEGAS).answer == "fails"


def test_a_value_is_within_a_factor_of_the_other_side():
    """Vegas has 0.25 on average. Reno has 0.6, 2.4 times as much, and BIC 0.7, 2.8 times."""
    assert check(statement(relation="within", tolerance=2.79), VEGAS).answer == "fails"
    [case] = check(statement(relation="within", tolerance=2.81), VEGAS).cases
    assert case.holds
    assert case.evidence == "vegas 0.25, bic 0.7 (within a factor of 2.81)"


def test_the_factor_of_a_margin_comes_before_that_of_a_tolerance():
    """0.25 is 1.04 times 0.24, which is 0.4 times the 0.6 of Reno."""
    settings = {"relation": "within", "margin": 0.4, "than": ("reno",)}
    [case] = check(statement(**settings, tolerance=1.05), VEGAS).cases
    assert case.holds
    assert case.evidence == "vegas 0.25, reno 0.6 times 0.4 (within a factor of 1.05)"
    assert check(statement(**settings, tolerance=1.03), VEGAS).answer == "fails"


def test_a_range_is_one_case_with_two_sides():
    """0.25 is in 0.2 to 0.3 and not in 0.3 to 0.4, which begins at 0.248 with a tolerance of 1.21."""
    for least, most, tolerance, holds in ((0.2, 0.3, 1, True), (0.3, 0.4, 1, False), (0.3, 0.4, 1.21, True)):
        rule = statement(relation="within", than={"least": least, "most": most}, tolerance=tolerance)
        assert [case.holds for case in check(rule, VEGAS).cases] == [holds]


@pytest.mark.parametrize(
    ("one", "other", "factor"), [(0, 0, 1), (0, 1, math.inf), (-1, -1, 1), (-1, 1, math.inf), (2, 3, 1.5)]
)
def test_only_equal_values_are_apart_by_a_finite_factor_if_one_is_not_positive(
    one: float, other: float, factor: float
):
    assert _apart(one, other) == _apart(other, one) == factor


def test_a_tolerance_without_the_relation_that_it_belongs_to_is_refused():
    for changed in ({"tolerance": 1.2}, {"relation": "within"}, {"than": {"least": 1, "most": 2}}):
        with pytest.raises(ValidationError, match="a range and a tolerance go with the relation within"):
            statement(**changed)


def test_a_statement_may_compare_an_algorithm_under_two_conditions():
    rival = {"where": {"flows.0.algorithm": "reno"}}
    settings = {"where": {"flows.0.algorithm": "vegas"}, "than": rival}
    [case] = check(statement(**settings), VEGAS).cases
    assert case.holds
    assert case.evidence == "vegas 0.1, with flows.0.algorithm = reno 0.4"


def test_a_statement_without_its_part_is_not_run():
    assert check(statement(), {}).answer == "not run"


def test_a_statement_about_several_algorithms_needs_all_of_them():
    assert check(statement(of=("vegas", "lp")), VEGAS).answer == "not run"
    assert check(statement(than=("bic", "htcp")), VEGAS).answer == "not run"


def test_a_statement_about_a_missing_axis_is_not_run():
    assert check(statement(by=("path.rtt",)), VEGAS).answer == "not run"


def test_quantities_an_engine_does_not_report_have_no_number_and_no_verdict():
    """The size of loss events is unknown without drop events."""
    run, flows = pair(0, ("reno", "bic"), (50, 40))
    flows = [{**flow, "dropped_packets": 7} for flow in flows]
    data = by_hand(runs=[run], flows=flows)
    part = Part(
        about="",
        scenario="matrix",
        algorithms=("flows.0.algorithm",),
        numbers=(
            Column(name="goodput", words="", scale=1e-6),
            Column(name="burst", words="", metric="loss_event_size", column="burst_mean_packets"),
        ),
    )
    [(_, found)] = numbers(part, data)
    assert found["goodput"].mean == pytest.approx(45)
    assert "burst" not in found
    burst = Quantity(metric="loss_event_size", column="burst_mean_packets")
    not_run = Check(part="matrix", words="", quantity=burst, of=("reno",), relation="<", than=("bic",))
    assert check(Statement(says="", source="", checks=(not_run,)), {"matrix": data}).answer == "not run"


def test_the_documents_count_the_conclusions_that_their_own_tables_contradict():
    page = (Path(__file__).parents[2] / "docs/explanation/published-studies.md").read_text("utf-8")
    number = sum(map(len, NOT_TRUE_OF_PRINT.values()))
    assert f"{number} conclusions are not true of the numbers that their study prints" in " ".join(
        page.split()
    )
