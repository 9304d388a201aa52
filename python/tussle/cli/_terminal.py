"""Output: coloured and wrapped in a terminal, in plain whole lines into files and pipes."""

import os
import shutil
import sys
import textwrap
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

import typer
from rich.console import Console, RenderableType

from tussle.errors import printable

INTERRUPTED = 130
"""Exit status: 128 + SIGINT, as in shells."""
WIDE_ENOUGH = 10_000
"""Columns of output that is never wrapped."""
_ANY_HEIGHT = 25
_MOST_CHARACTERS = 1500
_KEPT_AT_END = 300
"""Characters kept at the end of a longer error message: the cause often follows a long text."""


@dataclass
class _Output:
    """What this command prints."""

    as_json: bool = False
    quiet: bool = False
    verbose: bool = False


_output = _Output()


def choose_json(*, as_json: bool) -> None:
    """Choose whether this command prints JSON to the standard output, and no tables."""
    _output.as_json = as_json


def choose_amount(*, quiet: bool, verbose: bool) -> None:
    """Choose whether this command prints nothing but errors, and whether it prints details."""
    _output.as_json, _output.quiet, _output.verbose = False, quiet, verbose


def print_json(document: str) -> None:
    """Print a document, if JSON was asked for."""
    if _output.as_json:
        sys.stdout.write(f"{document}\n")


def say(text: str) -> None:
    """Print a line: to the standard error if the standard output has JSON, and not at all if quiet."""
    if not _output.quiet:
        width = WIDE_ENOUGH if _output.as_json else columns()
        _echo(text, width, err=_output.as_json)


def note(text: str) -> None:
    """Print a note to the standard error, unless quiet: what limits results, or what is going on."""
    if not _output.quiet:
        # In a file that has both, lines are in the order in which they were printed.
        sys.stdout.flush()
        width = shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDE_ENOUGH
        _echo(text, width, err=True)


def detail(text: str) -> None:
    """Print a note that only `--verbose` asks for."""
    if _output.verbose:
        note(text)


def _echo(text: str, width: int, *, err: bool) -> None:
    """Print text in which names from outside may contain control sequences."""
    typer.echo("\n".join(_wrapped(printable(line), width) for line in text.splitlines()), err=err)


def _wrapped(line: str, width: int) -> str:
    """Break a line between words, if it is longer than `width`."""
    if len(line) <= width:
        return line
    return "\n".join(
        textwrap.wrap(line, width, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)
    )


def columns() -> int:
    """Return the columns to print in: those of the terminal; a file or a pipe has no end."""
    return shutil.get_terminal_size().columns if sys.stdout.isatty() else WIDE_ENOUGH


def progress_console() -> Console:
    """Return the console for progress: the standard error, if it is a terminal."""
    return Console(stderr=True, markup=False, quiet=_output.quiet or not sys.stderr.isatty())


def show(content: RenderableType) -> None:
    """Print text to the standard output: wrapped in a terminal, in whole lines into a pipe."""
    console = Console(highlight=False, markup=False, quiet=_output.quiet)
    if console.is_terminal:
        console.print(content)
    else:
        show_whole(content)


def show_whole(content: RenderableType, width: int = WIDE_ENOUGH) -> None:
    """Print to the standard output, whatever the width of the terminal; words wrap at `width`."""
    if _output.as_json or _output.quiet:
        return
    # Names from outside may look like markup. Rich ignores the width of a dumb terminal that has no height.
    console = Console(highlight=False, markup=False, width=width, height=_ANY_HEIGHT)
    with console.capture() as captured:
        console.print(content)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def complain(sentences: str, details: str = "") -> None:
    """Print problems to the standard error, one per line, after the details; the exit status remains."""
    width = shutil.get_terminal_size().columns if sys.stderr.isatty() else WIDE_ENOUGH
    # Names from outside may contain control sequences.
    lines = [f"tussle: {_without_middle(printable(sentence))}" for sentence in sentences.splitlines()]
    try:
        sys.stderr.write(details + "".join(f"{_wrapped(line, width)}\n" for line in lines))
        sys.stderr.flush()
    except OSError:
        # Its disk is full, or its reader has ended. Python would report that again at the end.
        sys.stderr = nowhere()


def nowhere() -> TextIO:
    """Return a file in the place of the standard output or the standard error that keeps nothing."""
    return Path(os.devnull).open("w", encoding="utf-8")


def _without_middle(sentence: str) -> str:
    if len(sentence) <= _MOST_CHARACTERS:
        return sentence
    return f"{sentence[: _MOST_CHARACTERS - _KEPT_AT_END]} … {sentence[-_KEPT_AT_END:]}"
