"""What came out of a study, in a few sentences that its page opens with. They are made from the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tussle.papers._content import (
    STUDY_HOSTS,
    Content,
    StatementShown,
    SweepShown,
    TableShown,
    opening,
    two_digits,
)
from tussle.papers._scores import Score

_MOST_NAMED = 3
"""Conclusions that a sentence names; of more it gives the number."""
_MOST_TABLES = 3
_CHANGES = 0.2
"""Difference of rank correlation from which a sweep is worth a sentence."""
_NEARER = 0.5
"""Part of a table's median difference up to which a value of a sweep is worth a sentence."""


def came_out(content: Content) -> list[str]:
    """Return the sentences: conclusions, agreement of the tables, what changes it, and what stays unlike."""
    return [
        *_conclusions(content),
        *_with_its_hosts(content),
        *_between_engines(content),
        *_tables(content),
        *_nearest(content),
        *_decisive(content),
        *_contradicted(content),
        *_not_confirmed(content),
    ]


def _conclusions(content: Content) -> Iterator[str]:
    for engine in content.engines:
        answers = content.answers[engine]
        counts = [f"{answers['holds']} hold, {answers['depends']} depend, {answers['fails']} fail"]
        counts += [f"{answers['not run']} were not run"] if answers["not run"] else []
        name = opening(content.called[engine])
        yield f"{name}: of {len(content.statements)} conclusions {', '.join(counts)}."


def _with_its_hosts(content: Content) -> Iterator[str]:
    """Say which conclusions hold with the study's hosts only, and which with today's only."""
    for engine in content.engines:
        today = engine.removesuffix(STUDY_HOSTS)
        if engine == today or today not in content.engines:
            continue
        ran = [each for each in content.statements if _ran(each, engine) and _ran(each, today)]
        gained = [each for each in ran if _holds(each, engine) and not _holds(each, today)]
        lost = [each for each in ran if _holds(each, today) and not _holds(each, engine)]
        for found, hosts in ((gained, "the study's hosts"), (lost, "today's hosts")):
            if found:
                yield f"With {hosts} only these hold on {_where(content, today)}: {_named(found)}."


def _between_engines(content: Content) -> Iterator[str]:
    if not {"sim", "kernel"} <= set(content.engines):
        return
    ran = [each for each in content.statements if _ran(each, "sim") and _ran(each, "kernel")]
    alike = sum(each.found["sim"].answer == each.found["kernel"].answer for each in ran)
    if ran:
        yield f"The simulator and Linux say the same of {alike} of the {len(ran)} conclusions that both ran."


def _tables(content: Content) -> Iterator[str]:
    for shown in content.tables[:_MOST_TABLES]:
        parts = [
            f"{_agreement(shown, shown.scores[engine])} on {_where(content, engine)}"
            for engine in content.engines
            if shown.scores[engine].cells
        ]
        yield f"{shown.table.name}: {'; '.join(parts)}."


def _agreement(shown: TableShown, found: Score) -> str:
    ranks = [two_digits(each) for each in (found.within or found.spearman).values()]
    words = [f"rank correlation {' and '.join(dict.fromkeys(ranks))}"]
    if found.median_difference is not None:
        words.append(f"median difference {100 * found.median_difference:.0f} %")
    if shown.table.verdict and found.verdicts and found.verdicts.kappa is not None:
        words.append(f"Cohen's κ {two_digits(found.verdicts.kappa)}")
    return ", ".join(words)


class _Nearer(NamedTuple):
    """A table's median difference from print at a value of a sweep."""

    off: float
    ratio: float
    """The difference over that of the study's own parts."""
    table: str
    words: str


def _nearest(content: Content) -> Iterator[str]:
    """Name the values of what the study does not give that bring tables much nearer to print."""
    best = [
        min(found)
        for shown in content.tables
        if (found := [each for sweep in content.sweeps for each in _nearer(content, sweep, shown)])
    ]
    for each in sorted(best, key=lambda each: each.ratio)[:_MOST_TABLES]:
        yield f"{each.table} comes nearest to print {each.words}."


def _nearer(content: Content, sweep: SweepShown, shown: TableShown) -> Iterator[_Nearer]:
    usual = shown.scores[sweep.engine].median_difference
    setting = f"in the part `{sweep.part}` with `{content.study.parts[sweep.part].sweeps}`"
    for value, table, found in sweep.table:
        off = found.median_difference
        if table == shown.table.name and off is not None and usual and off <= _NEARER * usual:
            change = f"a median difference of {100 * off:.0f} % instead of {100 * usual:.0f} %"
            words = f"{setting} = {value}: {change}, on {_where(content, sweep.engine)}"
            yield _Nearer(off, off / usual, table, words)


def _decisive(content: Content) -> Iterator[str]:
    """Name the settings that the study does not give, and that the agreement depends on."""
    for engine in content.engines:
        each = [_dependence(content, shown) for shown in content.sweeps if shown.engine == engine]
        if found := [words for words in each if words]:
            yield (
                f"The ranks depend on what the study does not give. On {_where(content, engine)}, their "
                f"correlation is {'; '.join(found)}."
            )


def _dependence(content: Content, shown: SweepShown) -> str:
    """Return the least and the largest rank correlation over a sweep; nothing if they hardly differ."""
    ends = _ends(shown)
    if ends is None or ends[1][0] - ends[0][0] < _CHANGES:
        return ""
    (low, at_low), (high, at_high) = ends
    key = content.study.parts[shown.part].sweeps
    return f"{two_digits(low)} with `{key}` = {at_low} and {two_digits(high)} with {at_high}"


def _ends(shown: SweepShown) -> tuple[tuple[float, str], tuple[float, str]] | None:
    """Return the least and the largest rank correlation of the first table, with the values of the sweep."""
    table = shown.table[0][1]
    found = [
        (rank, value)
        for value, name, score in shown.table
        if name == table and (rank := score.mean_rank) is not None
    ]
    return (min(found), max(found)) if found else None


def _contradicted(content: Content) -> Iterator[str]:
    wrong = [each for each in content.statements if not each.is_true_of_print]
    if wrong:
        yield f"Not true of the study's own numbers: {_named(wrong)}."


def _not_confirmed(content: Content) -> Iterator[str]:
    """Name what fails, in a study whose conclusions are those of other documents."""
    for engine in content.engines if content.study.follows else []:
        failed = [each for each in content.statements if each.found[engine].answer == "fails"]
        if failed:
            yield f"On {_where(content, engine)} these fail: {_named(failed)}."


def _named(statements: Sequence[StatementShown]) -> str:
    says = [f"“{each.statement.says}”" for each in statements[:_MOST_NAMED]]
    more = len(statements) - len(says)
    return ", ".join(says) + (f", and {more} more" if more else "")


def _where(content: Content, engine: str) -> str:
    """Return the name of an engine after "on"."""
    name = content.called[engine]
    return f"the {name}" if engine.removesuffix(STUDY_HOSTS) == "sim" else name


def _ran(shown: StatementShown, engine: str) -> bool:
    return shown.found[engine].answer != "not run"


def _holds(shown: StatementShown, engine: str) -> bool:
    return shown.found[engine].answer == "holds"
