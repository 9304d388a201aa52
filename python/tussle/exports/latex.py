"""Tables for LaTeX, with the rules of the package booktabs."""

from __future__ import annotations

from pathlib import Path

import polars as pl

_ESCAPED = {
    "\\": r"\textbackslash{}",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    **{character: f"\\{character}" for character in "&%$#_{}"},
}
_DIGITS = 4


def write_latex(table: pl.LazyFrame, path: Path) -> None:
    """Write a `tabular`: numbers to the right with four significant digits, text to the left."""
    frame = table.collect()
    columns = "".join("r" if dtype.is_numeric() else "l" for dtype in frame.dtypes)
    lines = [
        r"% Needs \usepackage{booktabs}.",
        rf"\begin{{tabular}}{{{columns}}}",
        r"\toprule",
        _row(frame.columns),
        r"\midrule",
        *(_row([_text(value) for value in row]) for row in frame.iter_rows()),
        r"\bottomrule",
        r"\end{tabular}",
    ]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _row(cells: list[str]) -> str:
    return " & ".join("".join(_ESCAPED.get(c, c) for c in cell) for cell in cells) + r" \\"


def _text(value: object) -> str:
    if value is None:
        return ""
    if isinstance(value, float):
        return _number(value)
    return str(value)


def _number(value: float) -> str:
    """Format a number with four significant digits, and large numbers as whole numbers.

    >>> [_number(x) for x in (48251300.0, 0.43218, 12.0, 1e-7)]
    ['48251300', '0.4322', '12', '1e-07']
    """
    if abs(value) >= 10**_DIGITS:
        return f"{value:.0f}"
    return f"{value:.{_DIGITS}g}"
