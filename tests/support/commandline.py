"""Exit status and output of the command, for tests that call it."""

from typing import NamedTuple


class Answer(NamedTuple):
    status: int
    out: str
    problems: str


def refused(answer: Answer) -> str:
    """Check that the command only printed an error message; return the message."""
    assert answer.status == 2
    assert answer.out == ""
    assert answer.problems.startswith("tussle: ")
    return answer.problems.removeprefix("tussle: ").removesuffix("\n")
