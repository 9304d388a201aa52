"""A study's page as Markdown, for readers of the repository: conclusions, tables, small figures."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from textwrap import TextWrapper
from typing import NamedTuple

from tussle.figures import as_image
from tussle.papers._came_out import came_out, why
from tussle.papers._compare import Row
from tussle.papers._content import (
    Content,
    PartShown,
    StatementShown,
    SweepShown,
    TableShown,
    number,
    opening,
    percent,
    ranks_words,
    two_digits,
    verdicts_words,
)
from tussle.papers._page import comparison
from tussle.papers._scores import Score
from tussle.papers._study import Column, Table

_MOST_ROWS = 16
"""Rows of a table that is shown whole. A longer table shows the rows that differ most."""
_MOST_APART = 10
_VERDICTS = ("verdicts that agree", "if each were the most frequent one", "Cohen's κ")
_SIZES = {"full": "all of the study's", "quick": "`--quick`", "other": "changed by options"}
_FACTS = {"version": "Tussle", "build": "build", "release": "Linux", "hz": "ticks a second:"}
"""Words of a page for the keys of an engine's provenance."""
_WRAP = TextWrapper(118, break_long_words=False, break_on_hyphens=False)
_BULLET = TextWrapper(118, break_long_words=False, break_on_hyphens=False, subsequent_indent="  ")
_TAGS = re.compile(r"</?p>")
_CODE = re.compile(r"</?code>")


class _Page(NamedTuple):
    """Lines and figures of a page under construction."""

    lines: list[str]
    files: dict[str, str]
    """Figures, by their names beside the page."""
    folder: str

    def say(self, *paragraphs: str) -> None:
        """Add paragraphs, and headings, which are one line each."""
        for paragraph in paragraphs:
            is_heading = paragraph.startswith("#")
            self.lines.extend([paragraph if is_heading else _WRAP.fill(paragraph), ""])

    def bullets(self, items: Iterable[str]) -> None:
        """Add a list."""
        self.lines.extend([*(_BULLET.fill(f"- {item}") for item in items), ""])

    def table(self, header: Sequence[str], rows: Sequence[Sequence[str]]) -> None:
        """Add a table."""
        lines = [header, ["---"] * len(header), *rows]
        self.lines.extend(f"| {' | '.join(cell.replace('|', '/') for cell in line)} |" for line in lines)
        self.lines.append("")

    def figure(self, name: str, caption: str, svg: str) -> None:
        """Add a figure, written as a file of its own."""
        self.files[f"{self.folder}/{name}.svg"] = as_image(svg) + "\n"
        self.lines.extend([f"![{caption}]({self.folder}/{name}.svg)", ""])


def write_markdown(content: Content) -> dict[str, str]:
    """Return the files of a page by name: `NAME.md`, and in the folder `NAME` its figures and numbers."""
    name = content.study.name
    page = _Page([], {}, name)
    _opening(page, content)
    _conclusions(page, content)
    if content.tables:
        page.say("## The tables")
        for index, shown in enumerate(content.tables, 1):
            _table(page, content, shown, f"table-{index}")
    if content.sweeps:
        page.say("## What the study does not give, varied", *_block(content, "varied"))
        for part in dict.fromkeys(shown.part for shown in content.sweeps):
            _sweep(page, content, [shown for shown in content.sweeps if shown.part == part])
    _experiments(page, content)
    page.say("## What was chosen" if content.study.follows else "## What the study does not give")
    page.bullets(content.study.not_given)
    page.say("## Sources")
    page.bullets(content.study.sources)
    text = "\n".join(page.lines).rstrip() + "\n"
    return {f"{name}.md": text, f"{name}/comparison.csv": comparison(content), **page.files}


def _opening(page: _Page, content: Content) -> None:
    study, about = content.study, content.about
    commands = ", ".join(f"`{command}`" for command in content.commands)
    page.say(f"# {study.title}", study.about, "## What came out")
    page.bullets(came_out(content))
    if reasons := why(content):
        page.say("## Why")
        page.bullets(reasons)
    page.say("## What was done", *_block(content, "setup"))
    if content.own_hosts:
        settings = ", ".join(f"`{key} = {value}`" for key, value in content.own_hosts.settings.items())
        page.say(f"The study's hosts: {content.own_hosts.about} Settings: {settings}.")
    page.say(
        f"The numbers were made on {about.date} with Tussle {about.version}, by {commands}. "
        f"[comparison.csv]({study.name}/comparison.csv) holds every cell. `make papers` writes this page. "
        f"It also writes `results/paper-{study.name}/index.html`, which has all figures, all rows and the "
        "evidence for each conclusion."
    )


def _conclusions(page: _Page, content: Content) -> None:
    page.say("## The conclusions, checked")
    counted = [
        [opening(content.called[engine]), *(str(count) for count in content.answers[engine].values())]
        for engine in content.engines
    ]
    page.table(["conclusions", "hold", "depend", "fail", "not run"], counted)
    rows = [
        [
            each.statement.says,
            each.statement.source,
            *([] if content.study.follows else [_on_print(each)]),
            *(content.answer(each, engine) for engine in content.engines),
        ]
        for each in content.statements
    ]
    header = ["conclusion", "where", *([] if content.study.follows else ["on printed numbers"])]
    page.table([*header, *map(content.called.__getitem__, content.engines)], rows)
    page.say(content.reading, *content.notes)


def _on_print(shown: StatementShown) -> str:
    if shown.printed.answer == "not run":
        return "-"
    return shown.printed.words if shown.is_true_of_print else f"**{shown.printed.words}**"


def _table(page: _Page, content: Content, shown: TableShown, name: str) -> None:
    table = shown.table
    page.say(f"### {table.title}", *([table.note] if table.note else []))
    engines = [engine for engine in content.engines if shown.scores[engine].cells]
    header = ["agreement", "cells", *(f"rank correlation, {column.words}" for column in table.columns)]
    header += ["median difference"]
    header += list(_VERDICTS) if table.verdict else []
    header += ["over both orders"] if shown.orders else []
    page.table(header, [[content.called[engine], *_scores(shown, engine)] for engine in engines])
    rows = [row for _, members in shown.groups for row in members if row.found]
    page.figure(name, f"{table.title}: published and run again", shown.scatter)
    if shown.matrix:
        page.figure(f"{name}-matrix", f"{table.title}: as a matrix", shown.matrix)
    if table.verdict:
        page.say(_rule(table))
    if table.cause:
        page.say(f"Why: {table.cause}")
    if len(rows) <= _MOST_ROWS:
        _cells(page, content, table, rows)
        return
    apart = shown.apart[engines[0]]
    if apart:
        which = "with another verdict" if table.verdict else "that differ by more than 10 %"
        listed = "" if len(apart) <= _MOST_APART else f"; the {_MOST_APART} with the largest difference"
        summary = f"{opening(content.called[engines[0]])}: {len(apart)} rows {which}{listed}"
        page.say(f"<details><summary>{summary}</summary>")
        _cells(page, content, table, apart[:_MOST_APART])
        page.say("</details>")


def _scores(shown: TableShown, engine: str) -> Iterator[str]:
    found = shown.scores[engine]
    yield str(found.cells)
    for column in found.spearman:
        yield ranks_words(found, column)
    yield _median(found)
    if shown.table.verdict:
        yield from _verdicts(found)
    if shown.orders:
        agreeing, pairs = shown.orders.get(engine, (0, 0))
        yield f"{agreeing} of {pairs}" if pairs else "-"


def _verdicts(found: Score) -> Iterator[str]:
    yield verdicts_words(found.verdicts)
    yield "-" if found.verdicts is None else f"{found.verdicts.baseline:g}"
    yield "-" if found.verdicts is None else two_digits(found.verdicts.kappa)


def _rule(table: Table) -> str:
    rule = table.verdict
    if rule is None:
        return ""
    words = {column.name: column.words for column in table.columns}
    names = [words[name] for name in rule.columns]
    what = names[0] if len(names) == 1 else f"the smaller share of {' and '.join(names)}"
    return f"Verdict: {rule.yes}, if {what} is at least {number(rule.at_least)}; otherwise {rule.no}."


def _cells(page: _Page, content: Content, table: Table, rows: Sequence[Row]) -> None:
    """Add rows: the published number, Tussle's on each engine, and the relative difference."""
    engines = [engine for engine in content.engines if any(engine in row.found for row in rows)]
    names = [content.called[engine] for engine in engines]
    header = [", ".join(rows[0].keys)]
    for column in table.columns:
        header += [f"{column.words}, published", *names]
    header += ["verdict, published", *names] if table.verdict else []
    lines = []
    for row in rows:
        line = [row.words]
        for column in table.columns:
            ours = [_ours(table, column, row, engine, content.mark(engine, row.part)) for engine in engines]
            line += [number(row.published.get(column.name)), *ours]
        if table.verdict:
            line += [row.verdict or "-", *(row.verdicts.get(engine, "-") for engine in engines)]
        lines.append(line)
    page.table(header, lines)


def _ours(table: Table, column: Column, row: Row, engine: str, mark: str) -> str:
    found = row.found.get(engine, {}).get(column.name)
    if found is None:
        return "-"
    mean = f"{number(found.mean)}{mark}"
    if column.name not in row.published or table.ranks_only:
        return mean
    return f"{mean} ({percent(found.difference(row.published[column.name]))})"


def _sweep(page: _Page, content: Content, on_engines: Sequence[SweepShown]) -> None:
    """Write a part that varies a setting, on each engine that ran it."""
    first = on_engines[0]
    part = content.study.parts[first.part]
    page.say(f"### {part.about.rstrip('.')}")
    if first.chart:
        page.figure(f"sweep-{first.part}", f"Agreement over {part.sweeps}, on each engine", first.chart)
    header = ["engine", str(part.sweeps), "table", "rank correlation", "median difference"]
    header += list(_VERDICTS) if first.has_verdicts else []
    lines = []
    for shown in on_engines:
        engine = f"{content.called[shown.engine]} {content.mark(shown.engine, shown.part)}".rstrip()
        for value, table, found in shown.table:
            ranks = " and ".join(ranks_words(found, column) for column in found.spearman)
            line = [engine, value, table, ranks, _median(found)]
            if first.has_verdicts:
                line.extend(_verdicts(found))
            lines.append(line)
    page.table(header, lines)


def _experiments(page: _Page, content: Content) -> None:
    page.say("## The experiments")
    ran: dict[str, Mapping[str, PartShown]] = {
        name: {part.engine: part for part in content.parts if part.name == name}
        for name in dict.fromkeys(part.name for part in content.parts)
    }
    lines = [
        [
            name,
            next(iter(by_engine.values())).about,
            *(_runs(by_engine.get(each)) for each in content.engines),
        ]
        for name, by_engine in ran.items()
    ]
    page.table(["part", "experiment", *map(content.called.__getitem__, content.engines)], lines)
    for name, by_engine in ran.items():
        charts = next(iter(by_engine.values())).charts
        for index, chart in enumerate(each for each in charts if each.chart.in_markdown and each.svg):
            page.figure(f"{name}-{index + 1}", chart.caption, chart.svg)
            page.say(f"*{opening(name)}. {opening(chart.caption.rstrip('.'))}.*")
        if content.study.follows:
            _numbers(page, content, name, by_engine)
    page.bullets(
        f"{opening(content.called[engine])}: "
        + ", ".join(
            f"{words} `{found['engine'][key]}`" for key, words in _FACTS.items() if found["engine"].get(key)
        )
        for engine, found in content.provenance
    )


def _numbers(page: _Page, content: Content, name: str, by_engine: Mapping[str, PartShown]) -> None:
    """Add a table for each number of a part: a column for each algorithm, a row for each other setting."""
    part = content.study.parts[name]
    algorithm = part.algorithms[0]
    points = [(engine, point) for engine, shown in by_engine.items() for point in shown.numbers]
    settings = list(dict.fromkeys(key for _, point in points for key in point.axes if key != algorithm))
    for column in part.numbers:
        found: dict[tuple[str, ...], dict[str, str]] = {}
        for engine, point in points:
            at = (content.called[engine], *(point.axes.get(key, "-") for key in settings))
            row = found.setdefault(at, {})
            if column.name in point.found:
                row[point.axes[algorithm]] = number(point.found[column.name].mean)
        names = list(dict.fromkeys(name for row in found.values() for name in row))
        page.say(f"{opening(name)}, {column.words}, with a column for each `{algorithm}`:")
        page.table(
            ["engine", *(f"`{key}`" for key in settings), *names],
            [[*at, *(row.get(name, "-") for name in names)] for at, row in found.items()],
        )


def _runs(part: PartShown | None) -> str:
    return "-" if part is None else f"{part.runs} runs, {_SIZES[part.made]}"


def _block(content: Content, name: str) -> list[str]:
    """Return a block of the study's template `page.html` as a paragraph, if it has the block."""
    text = (content.study.folder / "page.html").read_text("utf-8")
    found = re.search(rf"{{% block {name} %}}(.*?){{% endblock %}}", text, re.DOTALL)
    return [_CODE.sub("`", _TAGS.sub("", found.group(1)).strip())] if found else []


def _median(found: Score) -> str:
    return "-" if found.median_difference is None else f"{100 * found.median_difference:.0f} %"
