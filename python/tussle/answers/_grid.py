"""A table to be shown: the command line and notebooks draw it, each in its way."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

from tussle import html


@dataclass(frozen=True)
class Heading:
    """The title of a column; a newline is where it may be broken."""

    title: str
    kind: Literal["text", "number"] = "text"


@dataclass(frozen=True)
class Cell:
    """A value in words, with a second line beneath it."""

    text: str
    detail: str = ""
    verdict: Literal["", "no", "unclear"] = ""
    """A verdict that deserves attention."""


@dataclass(frozen=True)
class Grid:
    """A table of cells."""

    title: str
    headings: Sequence[Heading]
    rows: Sequence[Sequence[Cell]]
    caption: str = ""
    keys: int = 1
    """The number of first columns that name a row."""

    def _repr_html_(self) -> str:
        header = [each.title.replace("-\n", "").replace("\n", " ") for each in self.headings]
        rows = [["\n".join(filter(None, [cell.text, cell.detail])) for cell in row] for row in self.rows]
        return html.table(header, rows, self.title) + html.paragraph(self.caption)
