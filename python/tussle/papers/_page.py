"""A study's page as HTML, published numbers beside Tussle's, without scripts or network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from html import escape
from pathlib import Path

import polars as pl

from tussle.errors import TussleError
from tussle.pages import environment
from tussle.papers._came_out import came_out, why
from tussle.papers._compare import Found
from tussle.papers._content import (
    Content,
    number,
    opening,
    percent,
    ranks_words,
    two_digits,
    verdicts_words,
)

_CODE = re.compile(r"`([^`]*)`")
_LINES_BEFORE_TAGS = re.compile(r"\s*\n\s*<")
_LIMITS = {"most_apart": 20, "shown_at_once": 4, "opened_up_to": 16}
"""Limits of rows listed because they differ, and of figures and rows shown without a click."""


def write(content: Content) -> dict[str, str]:
    """Return the files of a page by name: `index.html`, and `comparison.csv` with every cell."""
    page = _rendered(
        content.study.folder,
        study=content.study,
        about=content.about,
        engines=content.engines,
        commands=content.commands,
        called=content.called,
        mark=content.mark,
        answer=content.answer,
        notes=content.notes,
        reading=content.reading,
        statements=content.statements,
        came_out=[*map(_marked, came_out(content))],
        why=[*map(_marked, why(content))],
        tables=content.tables,
        sweeps=content.sweeps,
        parts=content.parts,
        provenance=content.provenance,
        own_hosts=content.own_hosts,
    )
    return {"index.html": page, "comparison.csv": comparison(content)}


def save(files: Mapping[str, str], folder: Path, page: str) -> Path:
    """Write the files of a page into a folder; returns the path of the page.

    Raises TussleError when a file cannot be written.
    """
    try:
        for name, text in files.items():
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_text(text, "utf-8")
    except OSError as error:
        raise TussleError(f"cannot write {folder}: {error.strerror}; give another folder (-o)") from error
    return folder / page


def comparison(content: Content) -> str:
    """Return as CSV every cell of the tables, published and Tussle's, and the numbers of the parts."""
    found = [
        {
            "table": shown.table.name,
            "part": row.part,
            "row": row.words,
            "quantity": column.name,
            "published": row.published.get(column.name),
            "engine": engine,
            **_in_csv(ours[column.name]),
        }
        for shown in content.tables
        for _, members in shown.groups
        for row in members
        for engine, ours in row.found.items()
        for column in shown.table.columns
        if column.name in ours
    ]
    found += [
        {
            "part": part.name,
            "row": point.words,
            "quantity": name,
            "engine": part.engine,
            **_in_csv(ours),
        }
        for part in content.parts
        for point in part.numbers
        for name, ours in point.found.items()
    ]
    texts = dict.fromkeys(("table", "part", "row", "quantity"), pl.String)
    numbers = dict.fromkeys(("mean", "low", "high"), pl.Float64)
    schema = {**texts, "published": pl.Float64, "engine": pl.String, **numbers, "runs": pl.UInt32}
    return pl.DataFrame(found, schema=schema).with_columns(pl.col(pl.Float64).round_sig_figs(5)).write_csv()


def _in_csv(found: Found) -> dict[str, float | None]:
    return {"mean": found.mean, "low": found.low, "high": found.high, "runs": found.runs}


def _marked(text: str) -> str:
    """Return as HTML a text with code between backticks."""
    return _CODE.sub(r"<code>\1</code>", escape(text))


def _rendered(folder: Path, **values: object) -> str:
    templates = environment("tussle.papers", folder)
    templates.filters |= {
        "marked": _marked,
        "number": number,
        "percent": percent,
        "opening": opening,
        "ranks": ranks_words,
        "verdicts": verdicts_words,
        "two_digits": two_digits,
    }
    page = templates.get_template("page.html").render(**values, **_LIMITS)
    return _LINES_BEFORE_TAGS.sub("<", page)
