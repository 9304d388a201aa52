"""Helpers of tests with mutated input: random numbers, a time limit, and checks of the output."""

import os
import random
import signal
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any
from unicodedata import category

from commandline import Answer

TIMEOUT_S = 300
"""Time limit in seconds, far longer than any command of these tests takes on a busy machine."""

HOSTILE_TEXTS = [
    "",
    " ",
    "[/red]",
    "[bold]x[/]",
    "\x00",
    "\x1b[2J\x07",
    "a\nb\r",
    "\u202egnp",
    "<script>alert(1)</script>",
    "../../etc/passwd",
    "{{ 7 * 7 }}",
    "$x$ \\input{y}",
    "/dev/zero",
    "x" * 100_000,
]


def mutations(full: int, every: int) -> list[int]:
    """Return the numbers of the mutations to try: all when TUSSLE_MUTATIONS=all, else one in `every`."""
    return list(range(0, full, 1 if os.environ.get("TUSSLE_MUTATIONS") == "all" else every))


def generator(suite: str, number: int) -> random.Random:
    """Return the random number generator of one mutation, independent of the other mutations."""
    return random.Random(f"{suite} {number}")  # noqa: S311 (nothing here is secret)


class Hung(BaseException):
    """A command that did not end; derives from BaseException so that no `except Exception` catches it."""


@contextmanager
def time_limit() -> Iterator[None]:
    """Raise `Hung` in the body if it takes longer than `TIMEOUT_S`."""

    def ring(_signal: int, _frame: FrameType | None) -> None:
        raise Hung(f"no answer in {TIMEOUT_S} s")

    before = signal.signal(signal.SIGALRM, ring)
    signal.setitimer(signal.ITIMER_REAL, TIMEOUT_S)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_REAL, 0)
        signal.signal(signal.SIGALRM, before)


def faults_of(answer: Answer) -> list[str]:
    """Return the faults that no output of a command may have."""
    found = []
    if answer.status not in (0, 1, 2):
        found.append(f"status {answer.status}")
    if "Traceback" in answer.out + answer.problems:
        found.append("a traceback")
    if any(category(character)[0] == "C" for character in answer.out.replace("\n", "")):
        found.append("its output may drive the terminal")
    lines = answer.problems.splitlines()
    # Notes come before a refusal, and every other output of a command has nothing but notes here.
    if answer.status == 2 and not (lines and lines[-1].startswith("tussle: ")):
        found.append(f"refused without a sentence: {answer.problems[-200:]!r}")
    for line in lines:
        if not line.isprintable():
            found.append(f"not printable: {line[:200]!r}")
        elif len(line) > 2000:
            found.append(f"{len(line)} characters: {line[:200]!r}")
    return found


def leaves_of(value: Any, path: tuple[str | int, ...] = ()) -> list[tuple[str | int, ...]]:
    """Return the path of each scalar in nested tables and lists."""
    match value:
        case dict():
            items = value.items()
        case list():
            items = enumerate(value)
        case _:
            return [path]
    return [leaf for key, each in items for leaf in leaves_of(each, (*path, key))]


def at(value: Any, path: tuple[str | int, ...]) -> Any:
    """Return the value at a path."""
    for key in path:
        value = value[key]
    return value


def damage(rng: random.Random, file: Path) -> str:
    """Damage a file as a faulty disk or another program may, and describe it."""
    return rng.choice([flip, truncate, replace])(rng, file)


def flip(rng: random.Random, file: Path) -> str:
    content = bytearray(file.read_bytes())
    content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    file.write_bytes(content)
    return f"{file.name} with another bit"


def truncate(rng: random.Random, file: Path) -> str:
    content = file.read_bytes().rstrip()
    left = rng.choice([0, rng.randrange(len(content)), len(content) - 1])
    file.write_bytes(content[:left])
    return f"{file.name} with {left} bytes"


def replace(rng: random.Random, file: Path) -> str:
    file.unlink()
    by = rng.choice(["nothing", "folder", "zero", "full", "fifo", "loop", "dangling", "terminal"])
    match by:
        case "folder":
            file.mkdir()
        case "fifo":
            os.mkfifo(file)
        case "zero" | "full":
            file.symlink_to(f"/dev/{by}")
        case "terminal":
            file.symlink_to("/dev/stdin")
        case "loop":
            file.symlink_to(file.name)
        case "dangling":
            file.symlink_to("nowhere")
    return f"{file.name} by {by}"
