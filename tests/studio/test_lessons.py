"""What the lessons of the studio say is to be seen, in the tables of their set-ups."""

import re
from collections.abc import Callable

import pytest
from playwright.sync_api import Page

from in_a_page import finished, saved
from tussle.studio import lessons

Table = list[dict[str, float]]


def tables(page: Page) -> list[Table]:
    """Goodput in Mbit/s, share in %, part retransmitted in % and mean RTT in ms of each flow, by set-up."""
    shown = page.query_selector_all(".bench:not([hidden]) .result")
    names = ("goodput", "share", "retransmitted", "rtt")
    rows = [
        [row.inner_text().split("\t")[1:] for row in each.query_selector_all("tbody tr")] for each in shown
    ]
    return [[dict(zip(names, map(number, row), strict=True)) for row in table] for table in rows]


def number(text: str) -> float:
    return float(re.sub(r"[ %,]", "", text))


def most(page: Page, table: str, column: str) -> float:
    head, *rows = [line.split(",") for line in saved(page, f"{table}.csv").splitlines()]
    return max(float(row[head.index(column)] or 0) for row in rows if number(row[2]) > 5)


def sawtooth(page: Page, found: list[Table]) -> None:
    assert 63 <= most(page, "samples", "cwnd_packets") <= 70
    assert found[0][0]["goodput"] > 9.5
    assert most(page, "links", "backlog_packets") == 33


def loss(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert pytest.approx(12.2, abs=0.1) == (3 / (2 * 0.01)) ** 0.5
    assert found[0][0]["goodput"] == pytest.approx(12.2 * 1448 * 8 / 0.04 / 1e6, rel=0.1)
    assert found[0][0]["goodput"] < 5, "the link is idle for more than half of the time"
    assert found[0][0]["rtt"] < 50


def far_away(page: Page, found: list[Table]) -> None:
    goodput = found[0][0]["goodput"]
    assert goodput == pytest.approx(3.65 / 5, rel=0.15)
    page.goto(page.url + "&rate=100")
    page.reload()
    finished(page)
    assert tables(page)[0][0]["goodput"] == pytest.approx(goodput, rel=0.15)


def bufferbloat(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert found[0][0]["goodput"] == pytest.approx(9.64, abs=0.05), "that of Reno with a buffer of 1 BDP"
    assert 250 < found[0][0]["rtt"] - 40 < 300


def vegas(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert found[0][0]["goodput"] == pytest.approx(9.65, abs=0.05)
    assert found[0][0]["rtt"] < 50
    assert found[0][0]["retransmitted"] == 0


def codel(page: Page, found: list[Table]) -> None:
    assert found[0][0]["rtt"] < 50
    assert found[0][0]["goodput"] == pytest.approx(9.65 * 19 / 20, abs=0.1)
    page.goto(page.url.partition("#")[0] + "#flows=reno&duration=30&buffer=0.1")
    page.reload()
    finished(page)
    assert tables(page)[0][0]["goodput"] == pytest.approx(7.5, abs=0.2)


def equal(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert all(46 <= row["share"] <= 54 for row in found[0])


def retreat(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert 8 <= found[0][1]["share"] <= 12


def buffers(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    small, large = found
    assert small[1]["share"] > 90
    assert large[0]["goodput"] > large[1]["goodput"]


def queues(page: Page, found: list[Table]) -> None:  # noqa: ARG001
    assert all(45 <= row["share"] <= 55 for table in found for row in table)


CLAIMS: list[Callable[[Page, list[Table]], None]] = [
    sawtooth, loss, far_away, bufferbloat, vegas, codel, equal, retreat, buffers, queues
]  # fmt: skip
STEPS = [step for lesson in lessons() for step in lesson["steps"]]


def test_each_step_has_an_answer_that_is_tested():
    assert len(lessons()) == 3
    assert len(STEPS) == len(CLAIMS)
    assert all(step["text"] and step["answer"] and step["button"] for step in STEPS)


@pytest.mark.parametrize(
    ("step", "claim"), list(zip(STEPS, CLAIMS, strict=True)), ids=[c.__name__ for c in CLAIMS]
)
def test_what_a_lesson_says_is_seen(page, studio_file, step, claim):
    page.goto(studio_file.as_uri())
    finished(page)
    for lesson in page.query_selector_all(".lesson"):
        lesson.evaluate("each => { each.open = true; }")
        button = lesson.query_selector(f"button:text-is({step['button']!r})")
        if button:
            button.click()
            break
        lesson.evaluate("each => { each.open = false; }")
    finished(page)
    assert page.url.partition("#")[2] == step["query"]
    claim(page, tables(page))
