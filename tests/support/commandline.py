"""The answer of the command, for tests that call it."""

from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    out: str
    problems: str


def refused(answer: Answer) -> str:
    """The sentence of a refusal; nothing was printed beside it, and no traceback."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.problems.startswith("tussle: ")
    return answer.problems.removeprefix("tussle: ").removesuffix("\n")
