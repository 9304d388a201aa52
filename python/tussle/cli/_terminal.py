"""Output: coloured and wrapped in a terminal, in plain whole lines into files and pipes."""

import sys

from rich.console import Console, RenderableType

from tussle.errors import printable

INTERRUPTED = 130
"""Exit status: 128 + SIGINT, as in shells."""
_WIDE_ENOUGH = 10_000
"""Columns of output that is never wrapped."""


def progress_console() -> Console:
    """Return the console for progress: the standard error, if it is a terminal."""
    return Console(stderr=True, markup=False, quiet=not sys.stderr.isatty())


def show(content: RenderableType) -> None:
    """Print text to the standard output: wrapped in a terminal, in whole lines into a pipe."""
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(content)
    else:
        show_whole(content)


def show_whole(content: RenderableType) -> None:
    """Print numbers to the standard output: a narrow terminal does not truncate them."""
    # Names from outside may look like markup.
    console = Console(highlight=False, markup=False, width=_WIDE_ENOUGH)
    with console.capture() as captured:
        console.print(content)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def complain(sentences: str, details: str = "") -> None:
    """Print problems to the standard error, one per line, after the details."""
    sys.stderr.write(details)
    for sentence in sentences.splitlines():
        # Names from outside may contain control sequences.
        sys.stderr.write(f"tussle: {printable(sentence)}\n")
