"""Results of a study, arranged for its pages."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Any, Literal, NamedTuple

import polars as pl

from tussle.dataset import Dataset
from tussle.papers._charts import MEASURES, PartFigure, SweptScore, beside, over_sweep, part_figures
from tussle.papers._compare import Point, Row, both_orders, numbers, rows, swept
from tussle.papers._matrices import matrices
from tussle.papers._plan import SIZES, Setting, planned
from tussle.papers._printed import on_printed_numbers
from tussle.papers._scores import Score, Verdicts, score
from tussle.papers._statements import Checked, check
from tussle.papers._study import OwnHosts, Statement, Study, Table
from tussle.scenario import Scenario
from tussle.scenario.axes import written

_CALLED = {"sim": "simulator", "kernel": "Linux"}
_ENGINES = tuple(_CALLED)
_NAMED_KERNEL = "kernel-"
"""Prefix of an engine that is a named kernel; its name follows."""
_RELEASE = re.compile(r"^linux-(\d+\.\d+)$")
"""The name of a kernel of Linux's own; one with changes keeps its name as it is."""
STUDY_HOSTS = "-study-hosts"
"""Suffix of an engine whose runs have the hosts of the study."""
_LEAST_VALUES = 3
"""Values of a sweep that has a figure: two are compared in the table."""
_MARKS = {
    "†": "from the quick setting, with shorter or fewer runs than in the study",
    "‡": "from a scenario that options changed",
}
"""Meaning of the marks of numbers and answers."""
_MARKED = {"full": "", "quick": "†", "other": "‡"}
_READ = (
    "A conclusion holds if it holds in every case that was compared. It fails if it holds in none, and "
    "depends otherwise; the brackets count the cases in which it holds."
)
_READ_PRINTED = (
    "“On printed numbers” is the same comparison of the numbers that the study prints; a dash means that it "
    "does not print them."
)
_THRESHOLDS = (
    "Where the document gives no number for what it says, the threshold is Tussle's own. Such thresholds "
    "were chosen with first results at hand: they say how much is meant, and are not predictions."
)
_APART = 0.1
"""Relative difference from which a row of a table without verdicts is listed."""

Results = Mapping[str, Mapping[str, Dataset]]
"""Datasets by engine, then by part. Engines are `sim`, `kernel`, and `kernel-NAME` for a named kernel."""


@dataclass(frozen=True)
class About:
    """The origin of a page."""

    command: str
    """The command that wrote the page, which may show results of other commands, too."""
    date: str
    """The day, as 2026-11-20."""
    version: str


class StatementShown(NamedTuple):
    statement: Statement
    printed: Checked
    """The result of the statement on the numbers that the study prints."""
    found: dict[str, Checked]
    """The result of the statement by engine."""

    @property
    def is_true_of_print(self) -> bool:
        """Whether no printed number contradicts it."""
        return self.printed.answer in ("holds", "not run")


class TableShown(NamedTuple):
    table: Table
    groups: list[tuple[str, list[Row]]]
    scores: dict[str, Score]
    orders: dict[str, tuple[int, int]]
    """For each engine, the number of pairs whose verdicts over both orders agree, and the number of pairs."""
    apart: dict[str, list[Row]]
    """For each engine, the rows that disagree, the largest difference first."""
    scatter: str = ""
    """Figure of Tussle's numbers over the printed ones."""
    matrix: str = ""
    """Figure of the printed matrix beside Tussle's; empty if the table has no pairs."""


class SweepShown(NamedTuple):
    part: str
    engine: str
    table: list[tuple[str, str, Score]]
    """Value of the sweep, name of the published table, and score."""
    chart: str = ""
    """Figure of the sweep on all engines; only the first one has it."""

    @property
    def has_verdicts(self) -> bool:
        """Whether any of the tables has verdicts."""
        return any(found.verdicts for *_, found in self.table)


class PartShown(NamedTuple):
    name: str
    about: str
    engine: str
    made: str
    """Setting of the study that made the part, "full" or "quick"; otherwise "other"."""
    runs: int
    scenario: str
    """Text of the scenario, as HTML in one line."""
    charts: list[PartFigure]
    numbers: list[Point]


@dataclass(frozen=True)
class Content:
    """Results of a study on each engine."""

    study: Study
    about: About
    engines: list[str]
    commands: list[str]
    """Commands that reproduce these results."""
    statements: list[StatementShown]
    tables: list[TableShown]
    sweeps: list[SweepShown]
    parts: list[PartShown]
    provenance: list[tuple[str, Mapping[str, Any]]]

    @property
    def called(self) -> dict[str, str]:
        """Names of the engines that readers see."""
        return {engine: called(engine) for engine in self.engines}

    @property
    def own_hosts(self) -> OwnHosts | None:
        """The hosts of the study, if any results were made with them."""
        return self.study.hosts if any(engine.endswith(STUDY_HOSTS) for engine in self.engines) else None

    def mark(self, engine: str, *parts: str) -> str:
        """Return the mark of what comes from these parts on an engine: empty if all are the study's own."""
        made = {_MARKED[each.made] for each in self.parts if each.engine == engine and each.name in parts}
        return max(made, default="")

    def answer(self, shown: StatementShown, engine: str) -> str:
        """Return the words of a statement's result on an engine, with its mark."""
        words = shown.found[engine].words
        parts = (each.part for each in shown.statement.checks)
        return words if words == "not run" else f"{words} {self.mark(engine, *parts)}".rstrip()

    @property
    def notes(self) -> list[str]:
        """The meaning of the marks that the results have."""
        used = {_MARKED[each.made] for each in self.parts}
        return [f"{mark}: {meaning}" for mark, meaning in _MARKS.items() if mark in used]

    @property
    def reading(self) -> str:
        """How to read the answers of the conclusions."""
        return f"{_READ} {_THRESHOLDS if self.study.follows else _READ_PRINTED}"

    @property
    def answers(self) -> dict[str, dict[str, int]]:
        """Number of statements that hold, depend, fail or were not run, by engine."""
        return {engine: _answers(self.statements, engine) for engine in self.engines}


def content(study: Study, results: Results, about: About) -> Content:
    """Compare the results with the study."""
    usual = [base + hosts for base in _CALLED for hosts in ("", STUDY_HOSTS)]
    engines = [engine for engine in usual if engine in results]
    engines += [engine for engine in results if engine not in usual]
    tables = [_table(study, table, results, engines) for table in study.tables]
    return Content(
        study,
        about,
        engines,
        _commands(study, results, about),
        [_statement(study, each, results) for each in study.statements],
        [each for each in tables if any(each.scores[engine].cells for engine in engines)],
        list(_sweeps(study, results, engines)),
        [shown for engine in engines for shown in _parts(study, results[engine], engine)],
        [(engine, next(iter(results[engine].values())).provenance) for engine in engines],
    )


def results_in(study: Study, folder: Path) -> dict[str, dict[str, Dataset]]:
    """Open the datasets that `tussle paper` wrote into a folder."""
    named = {each.name.removesuffix(STUDY_HOSTS) for each in folder.glob(f"{_NAMED_KERNEL}*")}
    found = {
        engine: {
            part: Dataset.open(folder / engine / part)
            for part in study.parts
            if (folder / engine / part).exists()
        }
        for base in (*_ENGINES, *sorted(named - {_ENGINES[1]}))
        for engine in (base, base + STUDY_HOSTS)
    }
    return {engine: datasets for engine, datasets in found.items() if datasets}


def called(engine: str) -> str:
    """Return the name of an engine that readers see.

    >>> called("sim"), called("kernel"), called("kernel-linux-6.12")
    ('simulator', 'Linux', 'Linux 6.12')
    >>> called("sim-study-hosts")
    "simulator, the study's hosts"
    """
    base = engine.removesuffix(STUDY_HOSTS)
    name = _CALLED.get(base) or _RELEASE.sub(r"Linux \1", base.removeprefix(_NAMED_KERNEL))
    return name if base == engine else f"{name}, the study's hosts"


def _table(study: Study, table: Table, results: Results, engines: Sequence[str]) -> TableShown:
    compared = rows(study, table, results)
    orders = {engine: both_orders(compared, engine) for engine in results}
    scores = {engine: score(table, compared, engine) for engine in results}
    names = {engine: called(engine) for engine in engines if scores[engine].cells}
    known = [row for row in compared if row.found]
    return TableShown(
        table,
        list(_grouped(table, compared)),
        scores,
        {engine: (sum(a == b for _, a, b in each), len(each)) for engine, each in orders.items() if each},
        {engine: _apart(table, compared, engine) for engine in results},
        beside(table.columns, known, names) if names else "",
        matrices(table, known, names) if names else "",
    )


def _grouped(table: Table, compared: list[Row]) -> Iterable[tuple[str, list[Row]]]:
    if table.group is None:
        yield "", compared
        return
    groups: dict[str, list[Row]] = {}
    for row in compared:
        groups.setdefault(row.keys.get(table.group, ""), []).append(row)
    first = table.columns[0].name
    for name, members in groups.items():
        yield name, sorted(members, key=lambda row: -row.published.get(first, 0))


def _apart(table: Table, compared: list[Row], engine: str) -> list[Row]:
    """Return the rows with another verdict; in a table without verdicts, those with a large difference."""
    if table.ranks_only:
        return []
    known = [row for row in compared if engine in row.found]
    if table.verdict:
        known = [row for row in known if row.verdicts.get(engine) not in (None, row.verdict)]
    else:
        known = [row for row in known if row.largest_difference(engine) > _APART]
    return sorted(known, key=lambda row: -row.largest_difference(engine))


def _statement(study: Study, statement: Statement, results: Results) -> StatementShown:
    found = {engine: check(statement, datasets) for engine, datasets in results.items()}
    return StatementShown(statement, on_printed_numbers(study, statement), found)


def _answers(statements: list[StatementShown], engine: str) -> dict[str, int]:
    found = [each.found[engine].answer for each in statements]
    return {answer: found.count(answer) for answer in ("holds", "depends", "fails", "not run")}


def _sweeps(study: Study, results: Results, engines: Sequence[str]) -> Iterable[SweepShown]:
    """Return the sweeps on each engine; the first of a part with several values has the figure of all."""
    shown = [each for engine in engines for each in _swept(study, results[engine], engine)]
    names = {engine: called(engine) for engine in engines}
    first = {each.part: each for each in reversed(shown)}
    for each in shown:
        scores = [score for other in shown if other.part == each.part for score in _swept_scores(other)]
        if each is first[each.part] and len({score.value for score in scores}) >= _LEAST_VALUES:
            yield each._replace(chart=over_sweep(scores, str(study.parts[each.part].sweeps), names))
        else:
            yield each


def _swept(study: Study, datasets: Mapping[str, Dataset], engine: str) -> Iterable[SweepShown]:
    by_name = {table.name: table for table in study.tables}
    for name, part in study.parts.items():
        if part.sweeps is None or name not in datasets:
            continue
        scores = [
            (value, table, score(by_name[table], compared, ""))
            for value, tables in swept(study, name, datasets).items()
            for table, compared in tables.items()
        ]
        if scores:
            yield SweepShown(name, engine, scores)


def _swept_scores(shown: SweepShown) -> Iterable[SweptScore]:
    for value, table, each in shown.table:
        off = each.median_difference
        measured = (
            each.mean_rank,
            each.verdicts.agreeing / each.verdicts.rows if each.verdicts else None,
            None if off is None else 100 * off,
        )
        for measure, found in zip(MEASURES, measured, strict=True):
            if found is not None:
                yield SweptScore(shown.engine, value, table, measure, found)


def _parts(study: Study, datasets: Mapping[str, Dataset], engine: str) -> Iterable[PartShown]:
    for name, part in study.parts.items():
        if name in datasets:
            dataset = datasets[name]
            runs = dataset.runs.select(pl.len()).collect().item()
            charts = [each for chart in part.charts for each in part_figures(chart, dataset)]
            made, scenario = _made(study, name, dataset)[0], _in_one_line(dataset.scenario.to_toml())
            axes = list(planned(study, name, Setting()).axes())
            points = [_at_every_axis(point, axes, dataset.scenario) for point in numbers(part, dataset)]
            yield PartShown(name, part.about, engine, made, runs, scenario, charts, points)


def _at_every_axis(point: Point, axes: list[str], scenario: Scenario) -> Point:
    """Return the point with a value for each axis of the study, also where a scenario has one value of it."""
    fixed = {key: _value(scenario.to_dict(), key) for key in axes if key not in point.axes}
    found = point.axes | {key: written(value) for key, value in fixed.items() if value is not None}
    in_order = sorted(found, key=lambda key: axes.index(key) if key in axes else -1)
    return point._replace(axes={key: found[key] for key in in_order})


def _value(table: Any, key: str) -> Any:
    """Return the value at a key such as `flows.0.algorithm`, or `None`.

    >>> _value({"flows": [{"algorithm": "reno"}]}, "flows.0.algorithm")
    'reno'
    """
    for name in key.split("."):
        if isinstance(table, list):
            table = dict(enumerate(table)).get(int(name))
        else:
            table = table.get(name) if isinstance(table, dict) else None
    return table


def _in_one_line(text: str) -> str:
    """Return a text for `<pre>` in one line, so that diffs of a page stay short."""
    return escape(text).replace("\n", "&#10;")


def _made(study: Study, part: str, dataset: Dataset) -> tuple[Literal["full", "quick", "other"], list[str]]:
    """Return which of the study's own settings made a dataset, or "other", and the options to make it again.

    There are no options if a dataset differs in more than its size and its algorithms.
    """
    for size in SIZES:
        for own in (False, True) if study.hosts else (False,):
            if dataset.scenario == planned(study, part, Setting(size, study_hosts=own)):
                return size, ["--quick"] if size == "quick" else []
    names = dataset.runs.collect()[study.parts[part].algorithms[0]].unique(maintain_order=True).to_list()
    for size in SIZES:
        if dataset.scenario == planned(study, part, Setting(size, tuple(names))):
            return "other", [*(["--quick"] if size == "quick" else []), "--algorithms", ",".join(names)]
    return "other", []


def _commands(study: Study, results: Results, about: About) -> list[str]:
    """Return the commands that reproduce these results; one command runs several kernels."""
    kernels: dict[tuple[str, ...], list[str]] = {}
    sizes = {engine: _sizes(study, datasets) for engine, datasets in results.items()}
    for engine in sorted(results, key=lambda name: name.endswith(STUDY_HOSTS)):
        base = engine.removesuffix(STUDY_HOSTS)
        named = [] if base in _CALLED else [base.removeprefix(_NAMED_KERNEL)]
        chosen = [
            *([] if base == "sim" else ["--engine", "kernel"]),
            *([] if base == engine else ["--study-hosts"]),
            *("--kernel" for _ in named),
        ]
        for options in _options(study, sizes[engine]):
            kernels.setdefault((*options, *chosen), []).extend(named)
    commands = [
        shlex.join(["tussle", "paper", study.name, *options, *([",".join(named)] if named else [])])
        for options, named in kernels.items()
    ]
    as_run = [about.command] if any(None in each for each in sizes.values()) else []
    return list(dict.fromkeys([*commands, *as_run]))


def _options(study: Study, sizes: Mapping[tuple[str, ...] | None, list[str]]) -> Iterable[list[str]]:
    """Yield the options that make the datasets of an engine again, as far as options do."""
    for size, parts in sizes.items():
        if size is not None:
            yield [*size, *([] if len(parts) == len(study.parts) else ["--part", ",".join(parts)])]


def _sizes(study: Study, datasets: Mapping[str, Dataset]) -> Mapping[tuple[str, ...] | None, list[str]]:
    """Return the parts by the options of their size and algorithms, or by `None` if no options make them."""
    parts: dict[tuple[str, ...] | None, list[str]] = {}
    for part, dataset in datasets.items():
        size, words = _made(study, part, dataset)
        parts.setdefault(None if size == "other" and not words else tuple(words), []).append(part)
    return parts


def opening(text: str) -> str:
    """Return a text that begins with a capital letter."""
    return text[:1].upper() + text[1:]


def number(value: float | None) -> str:
    """Write a number with four digits, or a dash for `None`.

    >>> number(12.3456), number(0.01234), number(123456.0), number(None)
    ('12.35', '0.01234', '123456', '-')
    """
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 (four digits)


def ranks_words(found: Score, column: str) -> str:
    """Write the rank correlation of a column: within one condition if there are several, then over all.

    >>> ranks_words(Score(9, {"rtt": 0.97}, {"rtt": 0.41}, None, None), "rtt")
    '0.41 (over all 0.97)'
    """
    over_all = two_digits(found.spearman[column])
    return f"{two_digits(found.within[column])} (over all {over_all})" if found.within else over_all


def verdicts_words(found: Verdicts | None) -> str:
    """Write the agreement of verdicts.

    >>> verdicts_words(Verdicts(144.0, 104.0, 107.0, 0.216)), verdicts_words(None)
    ('104 of 144', '-')
    """
    return "-" if found is None else f"{found.agreeing:g} of {found.rows:g}"


def two_digits(value: float | None) -> str:
    """Write a number with two digits after the point, or a dash for `None`."""
    return "-" if value is None else f"{value:.2f}"


def percent(part: float | None) -> str:
    """Write a relative difference in per cent with its sign.

    >>> percent(0.123), percent(-0.5), percent(None)
    ('+12 %', '-50 %', '-')
    """
    return "-" if part is None else f"{100 * part:+.0f} %"
