"""The sentences that a study's page opens with, made of results by hand."""

from __future__ import annotations

from tussle.papers import About, Study
from tussle.papers._came_out import came_out
from tussle.papers._content import Content, StatementShown, SweepShown, TableShown
from tussle.papers._scores import Score
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
    about = About("tussle paper lan-pairs", "2026-11-20", "0.1.0")
    names = [*ENGINES[:engines]]
    return came_out(Content(STUDY, about, names, [], statements, tables or [], sweeps or [], [], []))


def off(median_difference: float) -> Score:
    return Score(8, {"first": 0.9}, {}, None, median_difference)


def swept(part: str, engine: str, **ranks: float) -> SweepShown:
    scores = [(value, "Table I", Score(8, {"first": rank}, {}, None, None)) for value, rank in ranks.items()]
    return SweepShown(part, engine, scores)


def test_conclusions_are_counted_for_each_engine():
    sentences = opening([statement("a", HOLDS, FAILS), statement("b", DEPENDS, NOT_RUN)])
    assert sentences[:2] == [
        "Simulator: of 2 conclusions 1 hold, 1 depend, 0 fail.",
        "Simulator, the study's hosts: of 2 conclusions 0 hold, 0 depend, 1 fail, 1 were not run.",
    ]


def test_the_conclusions_that_depend_on_the_hosts_are_named():
    shown = [statement("a", HOLDS, FAILS), statement("b", DEPENDS, HOLDS), statement("c", NOT_RUN, HOLDS)]
    sentences = opening([*shown, statement("d", HOLDS, HOLDS)])
    assert "With the study's hosts only these hold on the simulator: “b”." in sentences
    assert "With today's hosts only these hold on the simulator: “a”." in sentences


def test_of_many_conclusions_three_are_named_and_the_others_counted():
    sentences = opening([statement(name, FAILS, HOLDS) for name in "abcde"])
    assert "With the study's hosts only these hold on the simulator: “a”, “b”, “c”, and 2 more." in sentences


def test_both_engines_are_compared_where_both_ran():
    shown = [statement("a", HOLDS, HOLDS, FAILS), statement("b", FAILS, HOLDS, FAILS)]
    sentences = opening([*shown, statement("c", HOLDS, HOLDS, NOT_RUN)], engines=3)
    assert "The simulator and Linux say the same of 1 of the 2 conclusions that both ran." in sentences


def test_a_sweep_on_which_the_ranks_depend_has_a_sentence_and_another_one_has_none():
    buffers = {"20 kB": 0.59, "150 kB": 0.13, "600 kB": -0.25}
    sweeps = [swept("buffer", SIM, **buffers), swept("rtt", SIM, **{"1 ms": 0.5, "10 ms": 0.6})]
    assert opening([], sweeps)[2:] == [
        "The ranks depend on what the study does not give. On the simulator, their correlation is "
        "-0.25 with `path.queue.limit` = 600 kB and 0.59 with 20 kB."
    ]


def test_the_value_of_a_sweep_that_brings_a_table_nearest_to_print_has_a_sentence():
    """From 28 % to 13 % with the study's hosts; on the simulator alone it stays above half of 20 %."""
    table = TableShown(STUDY.tables[0], [], {SIM: off(0.2), OWN: off(0.28)}, {}, {})
    found = {SIM: [("150 kB", off(0.15))], OWN: [("20 kB", off(0.14)), ("600 kB", off(0.13))]}
    sweeps = [
        SweepShown("buffer", engine, [(value, table.table.name, score) for value, score in each])
        for engine, each in found.items()
    ]
    nearest = [words for words in opening([], sweeps, tables=[table]) if "nearest" in words]
    assert nearest == [
        f"{table.table.name} comes nearest to print in the part `buffer` with `path.queue.limit` = 600 kB: a "
        "median difference of 13 % instead of 28 %, on the simulator, the study's hosts."
    ]


def test_conclusions_that_the_studys_own_numbers_contradict_are_named():
    shown = [statement("a", HOLDS, HOLDS, printed=FAILS), statement("b", HOLDS, HOLDS, printed=NOT_RUN)]
    assert opening(shown)[-1] == "Not true of the study's own numbers: “a”."
