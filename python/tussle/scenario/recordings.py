"""Recordings of networks: files that a scenario names."""

import csv
import stat
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from pathlib import Path
from typing import NamedTuple

from tussle.errors import shown
from tussle.scenario.files import read_bounded

_MOST_MIB = 64
"""About an hour at 40 Mbit/s in mahimahi's format."""
MOST_MS = 2**32 - 1
_US_PER_S = 10**6


class RecordingError(ValueError):
    """A recording that cannot be used; the message says what to put right."""


class Step(NamedTuple):
    """A recorded value, with the time from its row to the next, since the first row."""

    value: Decimal
    begin_us: int
    end_us: int


def modified_ns(file: str, formats: str) -> int:
    """Return when a file was modified; raises RecordingError if it is missing, or a pipe."""
    try:
        found = Path(file).stat()
    except (OSError, ValueError):
        raise RecordingError(f"there is no file {shown(file)}; name one in {formats}") from None
    if stat.S_ISFIFO(found.st_mode):
        raise RecordingError(
            f"{shown(file)} is a pipe, but a recording is read more than once; save it as a file"
        )
    return found.st_mtime_ns


def lines_of(path: Path) -> list[str]:
    """Return the lines of a file; raises RecordingError."""
    try:
        return read_bounded(path, _MOST_MIB).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise RecordingError(f"{shown(str(path))} cannot be read as text") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise RecordingError(f"{shown(str(path))} cannot be read ({reason})") from None


def steps(lines: Sequence[str], name: str, what: str) -> list[Step]:
    """Return the rows of a CSV of seconds and values, each of which lasts until the next.

    `what` describes a value, such as "a rate in Mbit/s". The last one lasts as long as the one before it. The
    recording begins with its first row, whatever the time in it is. Raises RecordingError.
    """
    rows = list(_rows(lines, name, what))
    if len(rows) < 2:  # noqa: PLR2004 (the last row has the length of the one before)
        raise RecordingError(
            f"{name} has {len(rows)} rows of numbers; give two or more, of seconds and {what}"
        )
    times_us = [int((at_s - rows[0][0]) * _US_PER_S) for at_s, _ in rows]
    times_us.append(2 * times_us[-1] - times_us[-2])
    if times_us[-1] > MOST_MS * 1000:
        raise RecordingError(f"{name} lasts {times_us[-1] // _US_PER_S} s; give at most {MOST_MS // 1000} s")
    return [
        Step(value, begin, end) for (_, value), begin, end in zip(rows, times_us, times_us[1:], strict=False)
    ]


def _rows(lines: Sequence[str], name: str, what: str) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield times and values; a first line without numbers is a heading."""
    before = None
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row:
            continue
        try:
            at_s, value = (Decimal(cell.strip()) for cell in row[:2])
        except (InvalidOperation, ValueError):
            if number == 1 and len(row) > 1:
                continue
            problem = f"{shown(','.join(row))} is not a time in seconds and {what}"
            raise RecordingError(f"{name}, line {number}: {problem}") from None
        if not (at_s.is_finite() and value.is_finite()) or value < 0:
            raise RecordingError(
                f"{name}, line {number}: {shown(','.join(row))} is not a time and {what} from 0 up"
            )
        if before is not None and at_s <= before:
            raise RecordingError(f"{name}, line {number}: {at_s} s is not after the row above it")
        before = at_s
        yield at_s, value
