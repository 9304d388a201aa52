"""Tables of HTML for notebooks: escaped, without scripts, styles of a page or addresses."""

from collections.abc import Iterable, Sequence
from html import escape

_LEFT = "text-align: left; white-space: pre-line"
_RIGHT = "text-align: right; white-space: pre-line"


def table(header: Sequence[str], rows: Iterable[Sequence[object]], caption: str = "") -> str:
    """Return a table; numbers, and texts that begin with one, are aligned to the right."""
    head = "".join(_cell("th", each, _LEFT) for each in header)
    body = "".join(f"<tr>{''.join(map(_value, row))}</tr>" for row in rows)
    above = f'<caption style="{_LEFT}; caption-side: top">{escape(caption)}</caption>' if caption else ""
    return f"<table>{above}<thead><tr>{head}</tr></thead><tbody>{body}</tbody></table>"


def paragraph(text: str, *, strong: bool = False) -> str:
    """Return a paragraph; an empty text has none."""
    inner = f"<strong>{escape(text)}</strong>" if strong else escape(text)
    return f'<p style="white-space: pre-line">{inner}</p>' if text else ""


def _value(value: object) -> str:
    text = "" if value is None else str(value)
    number = not isinstance(value, bool) and text.lstrip("-<")[:1].isdigit()
    return _cell("td", text, _RIGHT if number else _LEFT)


def _cell(kind: str, text: str, style: str) -> str:
    return f'<{kind} style="{style}">{escape(text)}</{kind}>'
