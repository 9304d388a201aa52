"""Atomic writing of files, and error messages for users."""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path

from tussle.dataset.files import UNREADABLE
from tussle.errors import TussleError


def whole_file(path: Path, write: Callable[[Path], None]) -> Path:
    """Let `write` fill a file beside `path`, and rename it to `path` when it is complete.

    An existing file is replaced. Raises TussleError when the file cannot be written.
    """
    staging = path.with_name(f".{path.name}.new")
    try:
        with _explained(path):
            write(staging)
            staging.replace(path)
    finally:
        staging.unlink(missing_ok=True)
    return path


@contextmanager
def _explained(path: Path) -> Iterator[None]:
    try:
        yield
    except OSError as error:
        reason = error.strerror or str(error) or type(error).__name__
        if not os.path.isdir(path.parent):  # noqa: PTH112 (a folder whose name is too long is none)
            reason = f"there is no folder {path.parent}"
        raise TussleError(f"cannot write {path}: {reason}; give another file (-o)") from error
    except UNREADABLE as error:
        first_line = str(error).partition("\n")[0]
        raise TussleError(f"cannot write {path}: {first_line}; run the scenario again") from error


@contextmanager
def understood(path: Path, writer: str) -> Iterator[None]:
    """Convert any error while reading a file of another program to a TussleError of one line."""
    try:
        yield
    except (OSError, EOFError) as error:
        reason = getattr(error, "strerror", None) or error
        raise TussleError(
            f"{path} cannot be read: {reason}; give a complete file that {writer} wrote"
        ) from error
    except (
        *UNREADABLE,
        ValueError,
        ArithmeticError,
        LookupError,
        TypeError,
        AttributeError,
        RecursionError,
    ) as error:
        first_line = str(error).partition("\n")[0]
        raise TussleError(
            f"{path} is not a file of {writer} ({type(error).__name__}: {first_line}); give a complete file "
            f"that {writer} wrote"
        ) from error
