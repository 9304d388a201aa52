"""What came out of a study, in a few sentences that its page opens with. They are made from the results."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import NamedTuple

from tussle.errors import listed
from tussle.papers._content import (
    STUDY_HOSTS,
    Content,
    StatementShown,
    SweepShown,
    TableShown,
    two_digits,
)

_MOST_NAMED = 3
"""Conclusions and sweeps that a sentence names; of more it gives the number."""
_MOST_TABLES = 2
_CHANGES = 0.2
"""Difference of rank correlation from which a sweep is worth a sentence."""
_NEARER = 0.5
"""Part of a table's median difference up to which a value of a sweep is worth a sentence."""


def came_out(content: Content) -> list[str]:
    """Return the sentences: conclusions, agreement of the tables, and what stays unlike."""
    return [
        *_conclusions(content),
        *_with_its_hosts(content),
        *_between_engines(content),
        *_tables(content),
        *_contradicted(content),
        *_not_confirmed(content),
    ]


def why(content: Content) -> list[str]:
    """Return the reasons, as far as they are known: those of the study, and what the sweeps show."""
    return [*content.study.causes, *_nearest(content), *_decisive(content)]


def _conclusions(content: Content) -> Iterator[str]:
    counts = {
        answer: [content.answers[engine][answer] for engine in content.engines]
        for answer in ("holds", "depends", "fails", "not run")
    }
    engines = [_where(content, engine) for engine in content.engines]
    hold = [f"{count} on {engine}" for count, engine in zip(counts["holds"], engines, strict=True)]
    hold[0] = hold[0].replace(" ", " holds " if counts["holds"][0] == 1 else " hold ", 1)
    rest = [
        f"{listed(map(str, counts[answer]))} {answer if counts[answer] == [1] else plural}"
        for answer, plural in (("depends", "depend"), ("fails", "fail"))
        if any(counts[answer])
    ]
    missing = [
        f"{count} {'was' if count == 1 else 'were'} not run on {engine}"
        for count, engine in zip(counts["not run"], engines, strict=True)
        if count
    ]
    tail = "".join(f"; {listed(each)}" for each in (rest, missing) if each)
    yield f"Of {len(content.statements)} conclusions {listed(hold)}{tail}."


def _with_its_hosts(content: Content) -> Iterator[str]:
    """Say which conclusions hold with the study's hosts only, and which with today's only."""
    for engine in content.engines:
        today = engine.removesuffix(STUDY_HOSTS)
        if engine == today or today not in content.engines:
            continue
        ran = [each for each in content.statements if _ran(each, engine) and _ran(each, today)]
        gained = [each for each in ran if _holds(each, engine) and not _holds(each, today)]
        lost = [each for each in ran if _holds(each, today) and not _holds(each, engine)]
        for found, hosts in (
            (gained, "with the study's hosts and not with today's"),
            (lost, "with today's hosts and not with the study's"),
        ):
            if found:
                verb = "this holds" if len(found) == 1 else "these hold"
                yield f"On {_where(content, today)} {verb} {hosts}: {_named(found)}."


def _between_engines(content: Content) -> Iterator[str]:
    if not {"sim", "kernel"} <= set(content.engines):
        return
    ran = [each for each in content.statements if _ran(each, "sim") and _ran(each, "kernel")]
    alike = sum(each.found["sim"].answer == each.found["kernel"].answer for each in ran)
    if ran:
        yield f"The simulator and Linux say the same of {alike} of the {len(ran)} conclusions that both ran."


def _tables(content: Content) -> Iterator[str]:
    for shown in content.tables[:_MOST_TABLES]:
        scores = {engine: score for engine in content.engines if (score := shown.scores[engine]).cells}
        off = [
            f"{100 * score.median_difference:.0f} % on {_where(content, engine)}"
            for engine, score in scores.items()
            if score.median_difference is not None
        ]
        ranks = [two_digits(score.mean_rank) for score in scores.values()]
        kappas = [two_digits(score.verdicts.kappa) for score in scores.values() if score.verdicts]
        plural = "the rank correlation is" if len(ranks) == 1 else "rank correlations are"
        words = f"{plural} {listed(ranks)}"
        if off:
            off[0] = off[0].replace(" on ", " off print in the median on ", 1)
            words = f"{shown.table.name} is {listed(off)}; {words}"
        else:
            words = f"{shown.table.name}: {words} on {listed(_where(content, each) for each in scores)}"
        verdicts = f", and Cohen's κ of its verdicts is {listed(kappas)}" if kappas else ""
        yield f"{words}{verdicts}."


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
    """Yield the values of a sweep that bring a table nearer. A sweep of some of its rows is not compared."""
    whole = shown.scores[sweep.engine]
    usual = whole.median_difference
    where = f"(part `{sweep.part}`, {_where(content, sweep.engine)})"
    for value, table, found in sweep.table:
        off = found.median_difference
        if table != shown.table.name or found.cells < whole.cells:
            continue
        if off is not None and usual and off <= _NEARER * usual:
            change = f"{100 * off:.0f} % off instead of {100 * usual:.0f} %"
            words = f"with `{content.study.parts[sweep.part].sweeps}` = {value}: {change} {where}"
            yield _Nearer(off, off / usual, table, words)


class _Dependence(NamedTuple):
    """Least and largest rank correlation over a sweep."""

    change: float
    words: str


def _decisive(content: Content) -> Iterator[str]:
    """Name the settings that the study does not give, and that the agreement depends on most."""
    by_part: dict[str, list[_Dependence]] = {}
    for shown in content.sweeps:
        by_part.setdefault(shown.part, []).extend(_dependence(content, shown))
    found = sorted((max(each) for each in by_part.values() if each), reverse=True)
    if found:
        named = "; ".join(each.words for each in found[:_MOST_NAMED])
        more = len(found) - _MOST_NAMED
        others = f"; and with those of {more} more {'part' if more == 1 else 'parts'}" if more > 0 else ""
        yield f"Rank correlations change with settings that the study does not give: {named}{others}."


def _dependence(content: Content, shown: SweepShown) -> Iterator[_Dependence]:
    """Yield the least and the largest rank correlation over a sweep, unless they hardly differ."""
    ends = _ends(shown)
    if ends is None or ends[1][0] - ends[0][0] < _CHANGES:
        return
    (low, at_low), (high, at_high) = ends
    key = content.study.parts[shown.part].sweeps
    change = f"from {two_digits(low)} at {at_low} to {two_digits(high)} at {at_high}"
    yield _Dependence(high - low, f"`{key}`, {change} (part `{shown.part}`, {_where(content, shown.engine)})")


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
            verb = "this fails" if len(failed) == 1 else "these fail"
            yield f"On {_where(content, engine)} {verb}: {_named(failed)}."


def _named(statements: Sequence[StatementShown]) -> str:
    says = [f"“{each.statement.says}”" for each in statements[:_MOST_NAMED]]
    more = len(statements) - len(says)
    return ", ".join(says) + (f", and {more} more" if more else "")


def _where(content: Content, engine: str) -> str:
    """Return the name of an engine after "on"."""
    base = engine.removesuffix(STUDY_HOSTS)
    name = f"the {content.called[engine]}" if base == "sim" else content.called[engine]
    return name.replace(", the study's hosts", " with the study's hosts")


def _ran(shown: StatementShown, engine: str) -> bool:
    return shown.found[engine].answer != "not run"


def _holds(shown: StatementShown, engine: str) -> bool:
    return shown.found[engine].answer == "holds"
