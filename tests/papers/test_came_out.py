"""The sentences that a study's page opens with, made of results by hand."""

from __future__ import annotations

from tussle.papers import About, Study
from tussle.papers._came_out import came_out, why
from tussle.papers._content import Content, StatementShown, SweepShown, TableShown
from tussle.papers._scores import Score, Verdicts
from tussle.papers._statements import Case, Checked
from tussle.papers._study import Statement

STUDY = Study.load("lan-pairs")
SIM, OWN, LINUX = "sim", "sim-study-hosts", "kernel"
ENGINES = (SIM, OWN, LINUX)
HOLDS, FAILS, DEPENDS, NOT_RUN = (True,), (False,), (True, False), ()


def statement(says: str, *found: tuple[bool, ...], printed: tuple[bool, ...] = HOLDS) -> StatementShown:
    """Return a statement with whether each of its cases holds, by engine."""
    words = Statement(says=says, source="", checks=STUDY.statements[0].checks)

    def checked(cases: tuple[bool, ...]) -> Checked:
        return Checked(words, tuple(Case(part="", words="", holds=holds, evidence="") for holds in cases))

    return StatementShown(words, checked(printed), dict(zip(ENGINES, map(checked, found), strict=False)))


def opening(
    statements: list[StatementShown],
    sweeps: list[SweepShown] | None = None,
    engines: int = 2,
    tables: list[TableShown] | None = None,
) -> list[str]:
    return came_out(of(statements, sweeps or [], engines, tables or []))


def reasons(sweeps: list[SweepShown], tables: list[TableShown] | None = None) -> list[str]:
    return why(of([], sweeps, 2, tables or []))


def of(
    statements: list[StatementShown], sweeps: list[SweepShown], engines: int, tables: list[TableShown]
) -> Content:
    about = About("tussle paper lan-pairs", "2026-11-20", "0.1.0")
    return Content(STUDY, about, [*ENGINES[:engines]], [], statements, tables, sweeps, [], [])


def off(median_difference: float) -> Score:
    return Score(8, {"first": 0.9}, {}, None, median_difference)


def swept(part: str, engine: str, **ranks: float) -> SweepShown:
    scores = [(value, "Table I", Score(8, {"first": rank}, {}, None, None)) for value, rank in ranks.items()]
    return SweepShown(part, engine, scores)


def test_conclusions_are_counted_for_each_engine():
    sentences = opening([statement("a", HOLDS, FAILS), statement("b", DEPENDS, NOT_RUN)])
    assert sentences == [
        "Of 2 conclusions 1 holds on the simulator and 0 on the simulator with the study's hosts; 1 and 0 "
        "depend and 0 and 1 fail; 1 was not run on the simulator with the study's hosts.",
        "On the simulator this holds with today's hosts and not with the study's: “a”.",
    ]


def test_a_page_of_one_engine_counts_in_plain_words():
    shown = [
        statement(name, found) for name, found in zip("abcd", (HOLDS, HOLDS, DEPENDS, FAILS), strict=True)
    ]
    assert opening(shown, engines=1) == ["Of 4 conclusions 2 hold on the simulator; 1 depends and 1 fails."]


def test_the_conclusions_that_depend_on_the_hosts_are_named():
    shown = [statement("a", HOLDS, FAILS), statement("b", DEPENDS, HOLDS), statement("c", NOT_RUN, HOLDS)]
    sentences = opening([*shown, statement("d", HOLDS, HOLDS)])
    assert "On the simulator this holds with the study's hosts and not with today's: “b”." in sentences
    assert "On the simulator this holds with today's hosts and not with the study's: “a”." in sentences


def test_of_many_conclusions_three_are_named_and_the_others_counted():
    sentences = opening([statement(name, FAILS, HOLDS) for name in "abcde"])
    with_theirs = "On the simulator these hold with the study's hosts and not with today's"
    assert f"{with_theirs}: “a”, “b”, “c”, and 2 more." in sentences


def test_both_engines_are_compared_where_both_ran():
    shown = [statement("a", HOLDS, HOLDS, FAILS), statement("b", FAILS, HOLDS, FAILS)]
    sentences = opening([*shown, statement("c", HOLDS, HOLDS, NOT_RUN)], engines=3)
    assert "The simulator and Linux say the same of 1 of the 2 conclusions that both ran." in sentences


def test_a_table_has_a_sentence_with_its_differences_ranks_and_verdicts_on_each_engine():
    scores = {SIM: off(0.26), OWN: off(0.14)._replace(verdicts=Verdicts(12, 9, 8, 0.64))}
    shown = TableShown(STUDY.tables[0], [], scores, {}, {})
    assert opening([statement("a", FAILS, FAILS)], tables=[shown])[1:] == [
        "Table I is 26 % off print in the median on the simulator and 14 % on the simulator with the study's "
        "hosts; rank correlations are 0.90 and 0.90, and Cohen's κ of its verdicts is 0.64."
    ]


def test_the_sweep_on_which_the_ranks_depend_most_comes_first_and_one_on_which_they_hardly_do_has_no_word():
    """Over the RTT they change by 0.1, over the window by 0.3, over the buffer by 0.84 and 0.2."""
    buffers = {"20 kB": 0.59, "150 kB": 0.13, "600 kB": -0.25}
    sweeps = [
        swept("window", SIM, **{"64 kB": 0.5, "1 MB": 0.2}),
        swept("buffer", SIM, **buffers),
        swept("buffer", OWN, **{"20 kB": 0.3, "150 kB": 0.5}),
        swept("rtt", SIM, **{"1 ms": 0.5, "10 ms": 0.6}),
    ]
    assert reasons(sweeps)[len(STUDY.causes) :] == [
        "Rank correlations change with settings that the study does not give: `path.queue.limit`, from "
        "-0.25 at 600 kB to 0.59 at 20 kB (part `buffer`, the simulator); `hosts.receive_window`, from 0.20 "
        "at 1 MB to 0.50 at 64 kB (part `window`, the simulator)."
    ]


def test_the_reasons_begin_with_those_that_the_study_gives():
    assert STUDY.causes
    assert reasons([])[: len(STUDY.causes)] == [*STUDY.causes]


def test_the_value_of_a_sweep_that_brings_a_table_nearest_to_print_has_a_sentence():
    """From 28 % to 13 % with the study's hosts; on the simulator alone it stays above half of 20 %."""
    table = TableShown(STUDY.tables[0], [], {SIM: off(0.2), OWN: off(0.28)}, {}, {})
    found = {SIM: [("150 kB", off(0.15))], OWN: [("20 kB", off(0.14)), ("600 kB", off(0.13))]}
    sweeps = [
        SweepShown("buffer", engine, [(value, table.table.name, score) for value, score in each])
        for engine, each in found.items()
    ]
    nearest = [words for words in reasons(sweeps, [table]) if "nearest" in words]
    assert nearest == [
        f"{table.table.name} comes nearest to print with `path.queue.limit` = 600 kB: 13 % off instead of "
        "28 % (part `buffer`, the simulator with the study's hosts)."
    ]


def test_a_sweep_of_some_rows_of_a_table_does_not_bring_it_nearer():
    """Two of four pairs are 2 % off; the table, with all four, is 28 % off."""
    table = TableShown(STUDY.tables[0], [], {SIM: off(0.28)}, {}, {})
    some = SweepShown("buffer", SIM, [("20 kB", table.table.name, off(0.02)._replace(cells=4))])
    assert not [words for words in reasons([some], [table]) if "nearest" in words]


def test_conclusions_that_the_studys_own_numbers_contradict_are_named():
    shown = [statement("a", HOLDS, HOLDS, printed=FAILS), statement("b", HOLDS, HOLDS, printed=NOT_RUN)]
    assert opening(shown)[-1] == "Not true of the study's own numbers: “a”."
