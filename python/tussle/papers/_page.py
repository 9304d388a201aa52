"""A study's page: what was published beside ours. It needs no network and no scripts."""

from __future__ import annotations

import re
import shlex
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from html import escape
from pathlib import Path
from typing import Literal, NamedTuple

import polars as pl
from jinja2 import ChoiceLoader, Environment, FileSystemLoader, PackageLoader, StrictUndefined

from tussle.dataset import Dataset
from tussle.errors import TussleError
from tussle.papers._charts import Drawn, drawn, over_sweep, sweep_rows
from tussle.papers._compare import Found, Row, Score, both_orders, numbers, rows, score, swept
from tussle.papers._plan import SIZES, Setting, planned
from tussle.papers._statements import Checked, check
from tussle.papers._study import Statement, Study, Table

_LINES_BEFORE_TAGS = re.compile(r"\s*\n\s*<")
_CALLED = {"sim": "simulator", "kernel": "Linux"}
_ONE_OF_KERNELS = "kernel-"
"""How the engines begin that are one of several kernels; its name follows."""
_LIMITS = {"most_apart": 20, "shown_at_once": 4, "opened_up_to": 16}
"""Rows that a page lists because they differ, figures of a part and rows of a table that need no click."""
_APART = 0.1
"""Of tables without verdicts, cells that differ by more are listed."""


Results = Mapping[str, Mapping[str, Dataset]]
"""By engine, then by part. Engines are `sim`, `kernel`, and `kernel-NAME` where several kernels ran."""


@dataclass(frozen=True)
class About:
    """What a page tells of where it comes from."""

    command: str
    """The one that wrote it; results of others may stand in the page too."""
    date: str
    """The day, as 2026-11-20."""
    version: str


class _TableShown(NamedTuple):
    table: Table
    groups: list[tuple[str, list[Row]]]
    scores: dict[str, Score]
    orders: dict[str, tuple[int, int]]
    """By engine: in how many pairs the verdicts over both orders agree, and how many there are."""
    apart: dict[str, list[Row]]
    """By engine: rows that disagree, the largest difference first."""


class _SweepShown(NamedTuple):
    part: str
    engine: str
    table: list[tuple[str, str, Score]]
    """The value, the table it is held against, and how well."""
    chart: str

    @property
    def has_verdicts(self) -> bool:
        """Whether any of the tables has some."""
        return any(found.verdicts for *_, found in self.table)


class _PartShown(NamedTuple):
    name: str
    about: str
    engine: str
    made: str
    """"full" or "quick" as the study has it, else "other"."""
    runs: int
    scenario: str
    """Its text, as HTML in one line."""
    charts: list[Drawn]
    numbers: list[tuple[str, dict[str, Found]]]


def write(study: Study, results: Results, about: About) -> dict[str, str]:
    """Give the files of a page by their names: `index.html`, and `comparison.csv` with every number."""
    tables = [_table(study, table, results) for table in study.tables]
    statements = [_statement(each, results) for each in study.statements]
    engines = [engine for engine in _CALLED if engine in results]
    engines += [engine for engine in results if engine not in _CALLED]
    page = _rendered(
        study.folder,
        study=study,
        about=about,
        engines=engines,
        commands=_commands(study, results, about),
        called={engine: called(engine) for engine in engines},
        statements=statements,
        answers={engine: _answers(statements, engine) for engine in engines},
        tables=[each for each in tables if any(each.scores[engine].cells for engine in engines)],
        sweeps=[shown for engine in engines for shown in _sweeps(study, results[engine], engine)],
        parts=[shown for engine in engines for shown in _parts(study, results[engine], engine)],
        provenance=[(engine, next(iter(results[engine].values())).provenance) for engine in engines],
    )
    return {"index.html": page, "comparison.csv": _csv(tables)}


def called(engine: str) -> str:
    """Name an engine for people.

    >>> called("sim"), called("kernel"), called("kernel-linux-6.12")
    ('simulator', 'Linux', 'linux-6.12')
    """
    return _CALLED.get(engine) or engine.removeprefix(_ONE_OF_KERNELS)


def save(files: Mapping[str, str], folder: Path) -> Path:
    """Write a page's files; returns the page. Raises TussleError when one cannot be written."""
    try:
        folder.mkdir(parents=True, exist_ok=True)
        for name, text in files.items():
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise TussleError(f"cannot write {folder}: {error.strerror}; give another folder (-o)") from error
    return folder / "index.html"


def _table(study: Study, table: Table, results: Results) -> _TableShown:
    compared = rows(study, table, results)
    orders = {engine: both_orders(compared, engine) for engine in results}
    return _TableShown(
        table,
        list(_grouped(table, compared)),
        {engine: score(table, compared, engine) for engine in results},
        {engine: (sum(a == b for _, a, b in each), len(each)) for engine, each in orders.items() if each},
        {engine: _apart(table, compared, engine) for engine in results},
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
    """Return the rows with another verdict; without verdicts, those that differ much."""
    if table.ranks_only == "yes":
        return []
    told = [row for row in compared if engine in row.found]
    if table.verdict:
        told = [row for row in told if row.verdicts.get(engine) not in (None, row.verdict)]
    else:
        told = [row for row in told if row.largest_difference(engine) > _APART]
    return sorted(told, key=lambda row: -row.largest_difference(engine))


def _statement(statement: Statement, results: Results) -> tuple[Statement, dict[str, Checked]]:
    return statement, {engine: check(statement, datasets) for engine, datasets in results.items()}


def _answers(statements: list[tuple[Statement, dict[str, Checked]]], engine: str) -> dict[str, int]:
    found = [each[engine].answer for _, each in statements]
    return {answer: found.count(answer) for answer in ("holds", "depends", "fails", "not run")}


def _sweeps(study: Study, datasets: Mapping[str, Dataset], engine: str) -> Iterable[_SweepShown]:
    for name, part in study.parts.items():
        if part.sweeps is None or name not in datasets:
            continue
        found = swept(study, name, datasets)
        by_name = {table.name: table for table in study.tables}
        scores = [
            (value, table, score(by_name[table], compared, ""))
            for value, tables in found.items()
            for table, compared in tables.items()
        ]
        lines: dict[str, dict[str, float | None]] = {}
        for value, table, each in scores:
            lines.setdefault(value, {}).update(_measures(table, each))
        if scores:
            chart = over_sweep(sweep_rows(lines), part.sweeps)
            yield _SweepShown(name, engine, scores, chart)


def _measures(table: str, each: Score) -> dict[str, float | None]:
    ranks = [found for found in each.spearman.values() if found is not None]
    return {
        f"{table}: verdicts that agree": each.agreeing / each.verdicts if each.verdicts else None,
        f"{table}: rank correlation": sum(ranks) / len(ranks) if ranks else None,
    }


def _parts(study: Study, datasets: Mapping[str, Dataset], engine: str) -> Iterable[_PartShown]:
    for name, part in study.parts.items():
        if name in datasets:
            dataset = datasets[name]
            runs = dataset.runs.select(pl.len()).collect().item()
            charts = [each for chart in part.charts for each in drawn(chart, dataset)]
            made, scenario = _made(study, name, dataset), _in_one_line(dataset.scenario.to_toml())
            yield _PartShown(name, part.about, engine, made, runs, scenario, charts, numbers(part, dataset))


def _in_one_line(text: str) -> str:
    """Give a text for `<pre>`: pages of a thousand lines are hard on whoever reads differences."""
    return escape(text).replace("\n", "&#10;")


def _made(study: Study, part: str, dataset: Dataset) -> Literal["full", "quick", "other"]:
    """Say which of the study's own settings made a dataset, if one did."""
    for size in SIZES:
        if dataset.scenario == planned(study, part, Setting(size)):
            return size
    return "other"


def _commands(study: Study, results: Results, about: About) -> list[str]:
    """Give the commands that make these results again."""
    commands = []
    for options, datasets in _engines(results):
        made: dict[str, list[str]] = {}
        for part in datasets:
            made.setdefault(_made(study, part, datasets[part]), []).append(part)
        for size, parts in made.items():
            if size == "other":
                commands.append(about.command)
                continue
            chosen = [] if len(parts) == len(study.parts) else ["--part", ",".join(parts)]
            quick = ["--quick"] if size == "quick" else []
            commands.append(shlex.join(["tussle", "paper", study.name, *quick, *chosen, *options]))
    return list(dict.fromkeys(commands))


def _engines(results: Results) -> Iterable[tuple[list[str], Mapping[str, Dataset]]]:
    """Give the options that choose each engine, and its datasets; several kernels run together."""
    kernels = [engine for engine in results if engine not in _CALLED]
    for engine in results:
        if engine in _CALLED:
            yield [] if engine == "sim" else ["--engine", engine], results[engine]
    if kernels:
        yield ["--engine", "kernel", "--kernel", ",".join(map(called, kernels))], results[kernels[0]]


def _csv(tables: list[_TableShown]) -> str:
    found = [
        {
            "table": shown.table.name,
            "part": row.part,
            "row": row.words,
            "quantity": column.name,
            "published": row.published.get(column.name),
            "engine": engine,
            "mean": ours[column.name].mean,
            "low": ours[column.name].low,
            "high": ours[column.name].high,
            "runs": ours[column.name].runs,
        }
        for shown in tables
        for _, members in shown.groups
        for row in members
        for engine, ours in row.found.items()
        for column in shown.table.columns
        if column.name in ours
    ]
    texts = dict.fromkeys(("table", "part", "row", "quantity"), pl.String)
    numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    schema = {**texts, "published": pl.Float64, "engine": pl.String, **numbers, "runs": pl.UInt32}
    return pl.DataFrame(found, schema=schema).with_columns(pl.col(pl.Float64).round_sig_figs(5)).write_csv()


def number(value: float | None) -> str:
    """Write three or four digits, or a dash for nothing.

    >>> number(12.3456), number(0.01234), number(123456.0), number(None)
    ('12.35', '0.01234', '123456', '-')
    """
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.4g}"  # noqa: PLR2004 (four digits)


def percent(part: float | None) -> str:
    """Write a difference with its sign.

    >>> percent(0.123), percent(-0.5), percent(None)
    ('+12 %', '-50 %', '-')
    """
    return "-" if part is None else f"{100 * part:+.0f} %"


def _opening(text: str) -> str:
    """Return a text with a capital, to open a sentence."""
    return text[:1].upper() + text[1:]


def _rendered(folder: Path, **values: object) -> str:
    environment = Environment(
        loader=ChoiceLoader([FileSystemLoader(folder), PackageLoader("tussle.papers")]),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    environment.filters |= {"number": number, "percent": percent, "opening": _opening}
    page = environment.get_template("page.html").render(**values, **_LIMITS)
    return _LINES_BEFORE_TAGS.sub("<", page)
