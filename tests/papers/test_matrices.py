"""The matrix of a published table of pairs beside Tussle's."""

from __future__ import annotations

import re

from tussle.papers import Study
from tussle.papers._compare import PAIR, Found, Row
from tussle.papers._matrices import matrices

TABLE = Study.load("lan-pairs").tables[0]
FAIR, UNFAIR = "share fairly", "do not"


def row(first: str, second: str, printed: tuple[float, float], ours: tuple[float, float] | None) -> Row:
    columns = ("first_mbit_per_s", "second_mbit_per_s")
    assert TABLE.verdict is not None
    assert TABLE.verdict.columns == columns
    found = (
        {}
        if ours is None
        else {"sim": {name: Found(x, None, None, 1) for name, x in zip(columns, ours, strict=True)}}
    )
    verdicts = {} if ours is None else {"sim": FAIR if abs(ours[0] - ours[1]) < 10 else UNFAIR}
    return Row(
        "matrix",
        dict(zip(PAIR, (first, second), strict=True)),
        dict(zip(columns, printed, strict=True)),
        found,
        FAIR if abs(printed[0] - printed[1]) < 10 else UNFAIR,
        verdicts,
    )


def texts(svg: str) -> list[str]:
    return re.findall(r"<text[^>]*>([^<]*)</text>", svg)


def test_a_matrix_stands_beside_the_printed_one_with_the_share_of_the_first_flow():
    """Printed 90 and 10, 9 and 94, 50 and 50: 90, 9 and 50 %. Here 60 and 40, 45 and 49: 60 and 48 %."""
    rows = [
        row("reno", "vegas", (90, 10), (60, 40)),
        row("vegas", "reno", (9, 94), (45, 49)),
        row("reno", "reno", (50, 50), None),
    ]
    drawn = texts(matrices(TABLE, rows, {"sim": "simulator"}))
    assert [each for each in drawn if each.isdigit()] == ["90", "9", "50", "60", "48"]
    assert {"published", "simulator"} <= set(drawn)
    assert "outlined: share fairly (the smaller share is at least 0.43)" in drawn


def test_pairs_that_share_fairly_are_outlined():
    def outlines(ours: tuple[float, float]) -> int:
        rows = [row("reno", "vegas", (90, 10), ours)]
        return matrices(TABLE, rows, {"sim": "simulator"}).count('stroke="#16181d"')

    assert (outlines((90, 10)), outlines((48, 45))) == (0, 1)


def test_a_pair_without_any_goodput_has_an_empty_cell():
    rows = [row("reno", "vegas", (90, 10), (0, 0)), row("vegas", "reno", (9, 94), (45, 49))]
    drawn = texts(matrices(TABLE, rows, {"sim": "simulator"}))
    assert [each for each in drawn if each.isdigit()] == ["90", "9", "48"]


def test_a_table_whose_rows_are_no_pairs_has_no_matrix():
    assert matrices(TABLE, [], {"sim": "simulator"}) == ""
    single = row("reno", "vegas", (90, 10), (60, 40))
    single.keys["path.rtt"] = "20 ms"
    assert matrices(TABLE, [single], {"sim": "simulator"}) == ""
