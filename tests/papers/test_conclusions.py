"""What docs/explanation/published-studies.md says about the conclusions of the studies, from their pages."""

from __future__ import annotations

import re
from pathlib import Path
from typing import NamedTuple

import polars as pl
import pytest

import tussle
from tussle.papers import Study, check, on_printed_numbers

DOCS = Path(__file__).parents[2] / "docs"
WORDS = " ".join((DOCS / "explanation" / "published-studies.md").read_text("utf-8").split())
SIM, THEN, LINUX = "simulator", "simulator, the study's hosts", "Linux"


class Answers(NamedTuple):
    """What came out of a conclusion on each engine: "holds", "depends (1 of 6)", with † if it ran shorter."""

    says: str
    by_engine: dict[str, str]

    def short(self, engine: str) -> str:
        """Return the answer in one word."""
        return (
            "not run" if self.by_engine[engine].startswith("not run") else self.by_engine[engine].split()[0]
        )


def answers(name: str) -> list[Answers]:
    """The conclusions of a study's page."""
    page = (DOCS / "papers" / f"{name}.md").read_text("utf-8")
    table = page.partition("| conclusion | where |")[2].partition("\n\n")[0].splitlines()
    engines = [each.strip() for each in table[0].strip("| ").split(" | ")][1:]
    rows = [line.strip("| ").split(" | ") for line in table[2:]]
    return [Answers(row[0], dict(zip(engines, row[3:], strict=True))) for row in rows]


def counts(found: list[Answers], engine: str) -> tuple[int, int, int]:
    """How many hold, depend and fail."""
    each = [conclusion.short(engine) for conclusion in found]
    assert "not run" not in each
    return each.count("holds"), each.count("depends"), each.count("fails")


def alike(found: list[Answers]) -> list[Answers]:
    """The conclusions of which both engines say the same."""
    return [each for each in found if each.short(SIM) == each.short(LINUX)]


def begins(found: list[Answers], start: str) -> Answers:
    [conclusion] = [each for each in found if each.says.startswith(start)]
    return conclusion


def cases_held(answer: str, of: int) -> int:
    """Cases in which a conclusion holds, from its answer in words."""
    [found] = re.findall(rf"^depends \((\d+) of {of}\)$", answer) or [{"holds": of, "fails": 0}[answer]]
    return int(found)


@pytest.mark.parametrize("name", ["buffer-provisioning", "hsdpa", "lan-pairs", "linux-variants"])
def test_the_text_counts_the_conclusions_as_the_page_does(name: str):
    found = answers(name)
    (hold, depend, fail), today = (counts(found, engine) for engine in (THEN, SIM))
    said = f"Of {len(found)} conclusions {hold} hold with the study's hosts, {depend} depend and {fail} fail"
    assert f"{said}; with today's hosts {today[0]}, {today[1]} and {today[2]}." in WORDS
    assert f"Linux says the same as the simulator of {len(alike(found))} of the {len(found)}" in WORDS


def test_what_fails_of_the_buffers_with_todays_hosts_is_as_stated():
    found = answers("buffer-provisioning")
    fail = [each.says for each in found if each.short(SIM) == "fails"]
    starts = [
        "With 0.1 BDP, HighSpeed almost fills the link",
        "The few ms that one host is nearer change much: on the nearer host Reno has less than half",
        "Of Reno and Westwood+, the one on the nearer host gets less",
        "Of two flows of a new variant, that with the shorter RTT gets less",
        "At 100 ms, ten flows of H-TCP use a little less of the link than those of any other variant",
        "At 300 ms, ten flows of H-TCP get notably less than those of any other variant",
        "At 300 ms, ten flows of Scalable get less with a larger buffer",
        "Of five flows, those of CUBIC and Westwood+ use most of a gigabit",
        "Ten flows of HighSpeed or H-TCP do not fill a gigabit",
    ]
    assert [says.startswith(start) for says, start in zip(fail, starts, strict=True)] == [True] * 9
    assert "The eight others that fail with today's hosts contradict the study's ns-2. Reno gets" in WORDS
    study = Study.load("buffer-provisioning")
    on_print = {each.says: on_printed_numbers(study, each).answer for each in study.statements}
    untrue = [says for says, answer in on_print.items() if answer in ("fails", "depends")]
    assert [says for says in untrue if on_print[says] == "fails"] == [fail[0]]
    assert len(untrue) == 3
    assert "Three are not true of the printed numbers in every case, among them that HighSpeed" in WORDS


def test_linux_and_the_simulator_differ_on_the_conclusion_of_the_buffers_that_is_named():
    found = answers("buffer-provisioning")
    [other] = [each for each in found if each not in alike(found)]
    assert other.says.startswith("Two flows of Reno share more evenly")
    assert {each: other.by_engine[each] for each in (SIM, LINUX)} == {
        SIM: "depends (5 of 6)",
        LINUX: "holds",
    }
    assert other.short(THEN) == "fails"
    assert "two flows of Reno share most evenly with each of six buffers there, on the simulator" in WORDS
    assert "and two flows of Reno do not share more evenly than those of other variants." in WORDS


def test_linux_and_the_simulator_agree_on_every_conclusion_of_the_testbed():
    found = answers("linux-variants")
    assert alike(found) == found
    assert "Linux says the same as the simulator of 56 of the 56. Twenty-three are not true" in WORDS


def test_what_both_hosts_of_the_phone_show_is_as_stated():
    found = answers("hsdpa")
    starts = [
        "Downlink, BIC and CUBIC have longer RTTs",
        "Downlink, BIC and CUBIC have more queueing delay",
        "Downlink, a single flow of BIC or CUBIC has more congestion episodes",
        "Downlink, BIC and CUBIC retransmit more",
        "All four get much the same goodput",
        "Downlink, Westwood+ has the shortest RTTs",
    ]
    for start in starts:
        assert {begins(found, start).short(engine) for engine in (SIM, THEN)} == {"holds"}
    assert "With both hosts BIC and CUBIC have longer RTTs and queueing delays on the downlink, more" in WORDS


def test_what_only_the_studys_hosts_of_the_phone_show_is_as_stated():
    found = answers("hsdpa")
    only = [each.says for each in found if each.short(THEN) == "holds" != each.short(SIM)]
    assert [says.startswith("With one flow, Westwood+ and Reno have shorter bursts") for says in only] == [
        True
    ]
    assert "One conclusion holds with the study's hosts only: on the downlink the losses of a" in WORDS
    timeouts = begins(found, "Downlink, BIC and CUBIC have more timeouts")
    assert timeouts.by_engine[THEN] == "depends (3 of 4)"
    assert "The latter have more timeouts with two, three and four flows." in WORDS
    for start in ("Uplink, a single flow of CUBIC", "Bursts of losses get shorter with each"):
        assert begins(found, start).short(THEN) == "fails"
    assert "With these hosts bursts do not get shorter with more flows, a single flow of CUBIC" in WORDS


def test_cubic_retransmits_as_much_more_than_the_others_as_stated():
    table = pl.read_csv(DOCS / "papers/hsdpa/comparison.csv", infer_schema_length=None)
    lost = table.filter(table="Table III", engine="sim-study-hosts").with_columns(
        flows=pl.col("row").str.split(", ").list.first(), variant=pl.col("row").str.split(", ").list.last()
    )
    by_variant = lost.pivot("variant", index="flows", values="mean")
    times = pl.concat([by_variant["cubic"] / by_variant[other] for other in ("reno", "westwood")])
    assert f"retransmits {times.min():.0f} to {times.max():.0f} times as much as Reno and Westwood+" in WORDS
    assert "where three times is printed" in WORDS


def test_what_is_not_true_of_the_testbeds_own_numbers_is_as_stated():
    study = Study.load("linux-variants")
    on_print = {each.says: on_printed_numbers(study, each).answer for each in study.statements}
    assert sum(answer in ("fails", "depends") for answer in on_print.values()) == 23
    assert "Twenty-three are not true of the study's own numbers in every case, among them that BIC" in WORDS
    assert on_print["In 300 s BIC gets more than Reno, Vegas, Veno and Westwood"] == "fails"


def test_a_receive_window_makes_the_variants_of_the_testbed_compare_alike_at_any_rtt_and_loss():
    found = answers("linux-variants")
    study = Study.load("linux-variants")
    statements = [each for each in study.statements if "how the variants compare" in each.says]
    held = []
    for statement in statements:
        printed = on_printed_numbers(study, statement).cases
        by_engine = begins(found, statement.says).by_engine
        here = [cases_held(by_engine[engine], of=len(printed)) for engine in (THEN, SIM)]
        held.append((len(printed), sum(case.holds for case in printed), *here))
    # The conclusion on Table 2, of the part that varies the window.
    checks = [
        each.model_copy(
            update={"part": "window", "where": {**each.where, "hosts.receive_window": "512 kB"}}, deep=True
        )
        for each in statements[0].checks
    ]
    kept = tussle.open(DOCS / "papers/linux-variants/results/sim/window")
    limited = check(statements[0].model_copy(update={"checks": tuple(checks)}), {"window": kept}).cases
    (cases, in_print, then, today), (_, *short) = held
    windowed = sum(case.holds for case in limited)
    assert len(limited) == cases
    assert min(in_print, then, windowed) > 2 * today
    assert (
        f"In 300 s that holds in {in_print} of {cases} cases in print, in {then} with the study's hosts, and "
        f"in {today} with today's. With a receive window of 512 kB, and today's hosts otherwise, it holds in "
        f"{windowed}: it is a property of flows that a window limits." in WORDS
    )
    said = "In 20 s it holds in {} cases in print, in {} with the study's hosts, and in {} with today's."
    assert said.format(*short) in WORDS


def test_what_the_text_says_of_the_lan_is_on_its_page():
    found = answers("lan-pairs")
    for start, engines, answer in (
        ("Vegas has the smallest mean share", (SIM, THEN, LINUX), "holds"),
        ("Two flows of Illinois do not share fairly", (THEN,), "holds"),
        ("HighSpeed shares fairly with LP, Hybla, Reno and CUBIC", (SIM, THEN, LINUX), "fails"),
    ):
        assert {begins(found, start).short(engine) for engine in engines} == {answer}
    assert "Vegas gets the least everywhere, and with the study's hosts Illinois' flows do not share" in WORDS
    study = Study.load("lan-pairs")
    on_print = {each.says: on_printed_numbers(study, each).answer for each in study.statements}
    assert sum(answer in ("fails", "depends") for answer in on_print.values()) == 9
    [fails] = [says for says, answer in on_print.items() if answer == "fails"]
    assert fails.startswith("HighSpeed shares fairly with LP, Hybla, Reno and CUBIC")
    assert "Nine are not true of the printed numbers in every case, among them that HighSpeed" in WORDS


def test_the_lans_ranks_over_the_buffer_are_as_stated():
    page = (DOCS / "papers" / "lan-pairs.md").read_text("utf-8")
    section = page.partition("over the switch's buffer\n")[2].partition("\n### ")[0]
    rows = [
        line.strip("| ").split(" | ") for line in section.splitlines() if line.startswith("| simulator |")
    ]
    ranks = {row[1]: row[3].split()[0] for row in rows}
    said = f"rank correlation is {ranks['20 kB']} with 20 kB, {ranks['150 kB']} with 150 kB and"
    assert f"{said} {ranks['600 kB']} with 600 kB." in WORDS
