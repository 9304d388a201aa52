"""Executes the examples of the docs and compares their output with the pages.

Run as a program, it executes the examples of pages and writes the numbers that come out into them:
`tools/doc_examples.py docs/tutorial/first-comparison.md …`; without pages, those that need no kernel.
"""

import argparse
import os
import re
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).parent.parent
EXECUTED = [
    ROOT / "README.md",
    *sorted((ROOT / "docs/tutorial").glob("*.md")),
    *sorted((ROOT / "docs/how-to").glob("*.md")),
]
"""The pages whose examples are executed."""

_BLOCK = re.compile(
    r"^(?:```(console|python|toml)|<!-- (assert))\n(.*?)^(?:```|-->)$", re.MULTILINE | re.DOTALL
)
_NAMED = re.compile(r"# [\w-]+\.py\n")
_NUMBER = re.compile(r"[0-9][0-9.]*")
_ANYTHING = "…"
_TIMEOUT_S = 1200
"""Seconds for compiling a whole kernel while other tests run."""
_SET_UP = ". .venv/bin/activate"
"""A command that only readers need: tests run in a shell that is set up already."""


class WrongPageError(Exception):
    """A page shows other output than its commands produce."""


@dataclass
class Example:
    """A command of a page, with the lines that the page shows of its output."""

    command: str
    shown: list[str]


def needs_kernel(page: Path) -> bool:
    """Return whether the examples of a page build or run a kernel."""
    text = page.read_text("utf-8")
    return "tussle kernel build" in text or "--engine kernel" in text


def check(page: Path, folder: Path) -> None:
    """Execute the examples of a page in an empty folder; raises WrongPageError where the output differs.

    Lines that a page shows come out in this order, digit by digit, and others may stand between them; `…`
    stands for anything. A block `<!-- assert` holds Python that checks what the page concludes.
    """
    for kind, text in blocks(page.read_text("utf-8")):
        for example in _carried_out(kind, text, folder):
            found, output = _execute(["bash", "-c", example.command], folder)
            _refuse_status(example, found, output)
            actual = iter(output.splitlines())
            for line in filter(_says_something, example.shown):
                if not any(_is_shown_by(line, each) for each in actual):
                    raise WrongPageError(f"{example.command} does not show: {line}\n{output}")


def blocks(text: str) -> Iterator[tuple[str, str]]:
    """Yield each block that is executed: its kind (console, python, toml, assert) and its text."""
    for shown, hidden, block in _BLOCK.findall(text):
        yield shown or hidden, block


def examples(block: str) -> Iterator[Example]:
    """Yield each command of a console block."""
    for part in block.removeprefix("$ ").split("\n$ "):
        command, *shown = part.splitlines()
        if command != _SET_UP:
            yield Example(command, shown)


def _carried_out(kind: str, text: str, folder: Path) -> Iterator[Example]:
    """Write the files and run the Python of a block; return its commands."""
    if kind == "toml" or _NAMED.match(text):
        _write_or_compare(text, folder)
    elif kind in ("python", "assert"):
        status, output = _execute([sys.executable, "-c", text], folder)
        if status:
            raise WrongPageError(f"{text}\n{output}")
    else:
        yield from examples(text)


def _write_or_compare(text: str, folder: Path) -> None:
    """Write a block that opens with a file's name, or compare it with that file of the repository."""
    first, _, rest = text.partition("\n")
    name = first.removeprefix("# ")
    if "/" not in name:
        (folder / name).write_text(text, "utf-8")
    elif rest not in (ROOT / name).read_text("utf-8"):
        raise WrongPageError(f"{name} does not hold:\n{rest}")


def _execute(command: list[str], folder: Path) -> tuple[int, str]:
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(  # noqa: S603
        command,
        cwd=folder,
        env=os.environ | {"PATH": path, "PYTHONWARNINGS": "error"},
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        timeout=_TIMEOUT_S,
        check=False,
    )
    return done.returncode, done.stdout


def _refuse_status(example: Example, status: int, output: str) -> None:
    is_refused = any(line.startswith("tussle: ") for line in example.shown)
    if status != (2 if is_refused else 0):
        raise WrongPageError(f"{example.command} ends with status {status}\n{output}")


def _is_shown_by(line: str, actual: str) -> bool:
    """Compare a line of a page with one of the output, apart from the amount of white space."""
    parts = [re.escape(" ".join(part.split())) for part in line.split(_ANYTHING)]
    return re.fullmatch(r"\s*.*?\s*".join(parts), " ".join(actual.split())) is not None


def written(page: Path, folder: Path) -> str:
    """Return the text of a page with the numbers of the actual output.

    A line of the output replaces the line that differs from it in numbers only. Raises WrongPageError where
    nothing like a line comes out: such a page is for a person to mend.
    """
    text = page.read_text("utf-8")
    for kind, block in blocks(text):
        new = block
        for example in _carried_out(kind, block, folder):
            status, output = _execute(["bash", "-c", example.command], folder)
            _refuse_status(example, status, output)
            lines = iter(output.splitlines())
            try:
                fresh = [_fresh(line, lines) for line in example.shown]
            except WrongPageError as error:
                raise WrongPageError(f"{example.command} {error}\n{output}") from None
            old_part, new_part = ("\n".join([example.command, *each]) for each in (example.shown, fresh))
            new = new.replace(old_part, new_part)
        text = text.replace(block, new)
    return text


def _fresh(line: str, output: Iterator[str]) -> str:
    """Return the next line of the output that differs from a shown one in numbers only."""
    if not _says_something(line):
        return line
    for actual in output:
        if _is_shown_by(line, actual):
            return line
        if _ANYTHING not in line and _masked(line) == _masked(actual):
            return actual.rstrip()
    raise WrongPageError(f"shows nothing like: {line}")


def _says_something(line: str) -> bool:
    return line.strip() not in ("", _ANYTHING)


def _masked(line: str) -> str:
    return " ".join(_NUMBER.sub("#", line).split())


def main() -> None:
    """Update the given pages."""
    arguments = argparse.ArgumentParser(description=__doc__)
    arguments.add_argument("pages", nargs="*", type=Path)
    pages = arguments.parse_args().pages or [page for page in EXECUTED if not needs_kernel(page)]
    failed = False
    for page in pages:
        with tempfile.TemporaryDirectory() as folder:
            try:
                text = written(page, Path(folder))
            except WrongPageError as error:
                failed = True
                print(f"{page}: {error}", file=sys.stderr)
                continue
        if text != page.read_text("utf-8"):
            page.write_text(text, "utf-8")
            print(f"written: {page}")
    sys.exit(failed)


if __name__ == "__main__":
    main()
