"""What goes to the terminal: coloured and wrapped there, plain whole lines into files and pipes."""

import sys

from rich.console import Console, RenderableType

from tussle.errors import printable

INTERRUPTED = 130
"""Exit status: 128 + SIGINT, as shells have it."""
_WIDE_ENOUGH = 10_000
"""Columns of what its reader may wrap."""


def progress_console() -> Console:
    """Return where progress is shown: beside the results, and only to someone who looks."""
    return Console(stderr=True, markup=False, quiet=not sys.stderr.isatty())


def show(content: RenderableType) -> None:
    """Print prose to the standard output: wrapped to fit a terminal, whole lines into a pipe."""
    console = Console(highlight=False, markup=False)
    if console.is_terminal:
        console.print(content)
    else:
        show_whole(content)


def show_whole(content: RenderableType) -> None:
    """Print numbers to the standard output: none is cut, however narrow the terminal."""
    # Names from outside may look like markup.
    console = Console(highlight=False, markup=False, width=_WIDE_ENOUGH)
    with console.capture() as captured:
        console.print(content)
    sys.stdout.write("".join(f"{line.rstrip()}\n" for line in captured.get().splitlines()))


def complain(sentences: str, details: str = "") -> None:
    """Print problems to the standard error, one a line, below the details if there are any."""
    sys.stderr.write(details)
    for sentence in sentences.splitlines():
        # Names from outside may hold what moves the cursor, or worse.
        sys.stderr.write(f"tussle: {printable(sentence)}\n")
