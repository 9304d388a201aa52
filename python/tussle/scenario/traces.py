"""Recordings of a link, in mahimahi's format or as a CSV of rates.

mahimahi's format has one line for each opportunity to send 1500 bytes, in ms. A CSV has rows of a time in
seconds and the rate from then on in Mbit/s, as the published measurements of mobile networks have them.
"""

import csv
import stat
from collections.abc import Iterator, Sequence
from decimal import Decimal, InvalidOperation
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tussle.errors import shown
from tussle.scenario.files import read_bounded
from tussle.units import RATE, rate

_OPPORTUNITY_BITS = 1500 * 8
_MOST_MIB = 64
"""About an hour at 40 Mbit/s."""
_MOST_MS = 2**32 - 1
_MOST_OPPORTUNITIES = 10_000_000
_MOST_BIT_PER_S = int(rate(RATE.most))


class TraceError(ValueError):
    """A recording that cannot be used; the message says what to put right."""


class Trace(NamedTuple):
    """The times at which 1500 bytes may be sent; they repeat after the last one."""

    opportunities_ms: tuple[int, ...]

    def rate_bit_per_s(self) -> int:
        """Return the mean rate."""
        return len(self.opportunities_ms) * _OPPORTUNITY_BITS * 1000 // self.opportunities_ms[-1]


def read_trace(file: str) -> Trace:
    """Return the recording in a file; raises TraceError."""
    path = Path(file)
    try:
        found = path.stat()
    except (OSError, ValueError):
        raise TraceError(
            f"there is no file {shown(file)}; name one in mahimahi's format, or a .csv of seconds and Mbit/s"
        ) from None
    if stat.S_ISFIFO(found.st_mode):
        raise TraceError(f"{shown(file)} is a pipe, but a trace is read more than once; save it as a file")
    return _read(path, found.st_mtime_ns)


@lru_cache(maxsize=64)
def _read(path: Path, _modified_ns: int) -> Trace:
    try:
        lines = read_bounded(path, _MOST_MIB).decode("utf-8-sig").splitlines()
    except UnicodeDecodeError:
        raise TraceError(f"{shown(str(path))} cannot be read as text") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TraceError(f"{shown(str(path))} cannot be read ({reason})") from None
    read = _rates if path.suffix.lower() == ".csv" else _mahimahi
    opportunities = read(lines, path.name)
    if not opportunities or not opportunities[-1]:
        raise TraceError(f"{path.name} has a duration of 0 ms; its last line must be more than 0")
    trace = Trace(tuple(opportunities))
    if trace.rate_bit_per_s() > _MOST_BIT_PER_S:
        rate = f"{trace.rate_bit_per_s() / 1e9:.0f} Gbit/s"
        raise TraceError(f"{path.name} has {rate} on average; the limit is {RATE.most}")
    return trace


def _mahimahi(lines: Sequence[str], name: str) -> list[int]:
    opportunities: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not (line.isascii() and line.isdecimal()) or int(line[:12]) > _MOST_MS:
            raise TraceError(f"{name}, line {number}: {shown(line)} is not a time in whole milliseconds")
        if opportunities and int(line) < opportunities[-1]:
            raise TraceError(f"{name}, line {number}: {line} ms is before the line above it")
        opportunities.append(int(line))
    return opportunities


def _rates(lines: Sequence[str], name: str) -> list[int]:
    """Return the opportunities of a link that has these rates, each until the time of the next row.

    The last rate lasts as long as the one before it. The recording begins with its first row, whatever the
    time in it is. An opportunity is where the rate has added up to 1500 bytes, rounded up to a millisecond.
    """
    rows = list(_rows(lines, name))
    if len(rows) < 2:  # noqa: PLR2004 (the last row has the length of the one before)
        raise TraceError(f"{name} has {len(rows)} rows of numbers; give two or more, of seconds and Mbit/s")
    times_us = [int((at_s - rows[0][0]) * 10**6) for at_s, _ in rows]
    times_us.append(2 * times_us[-1] - times_us[-2])
    if times_us[-1] > _MOST_MS * 1000:
        raise TraceError(f"{name} lasts {times_us[-1] // 10**6} s; give at most {_MOST_MS // 1000} s")
    opportunities: list[int] = []
    # In millionths of a bit, which are exact.
    one, due, sent = _OPPORTUNITY_BITS * 10**6, _OPPORTUNITY_BITS * 10**6, 0
    for (_, mbit_per_s), begin_us, end_us in zip(rows, times_us, times_us[1:], strict=False):
        bit_per_s = int(mbit_per_s * 10**6)
        then = sent + bit_per_s * (end_us - begin_us)
        if then > _MOST_OPPORTUNITIES * one:
            raise TraceError(f"{name} carries more than {_MOST_OPPORTUNITIES} packets; shorten it")
        while due <= then:
            after_us = begin_us - (sent - due) // bit_per_s
            opportunities.append(-(-after_us // 1000))
            due += one
        sent = then
    if not opportunities:
        raise TraceError(f"{name} never carries a packet of 1500 bytes; its rates are in Mbit/s")
    return opportunities


def _rows(lines: Sequence[str], name: str) -> Iterator[tuple[Decimal, Decimal]]:
    """Yield times and rates; a first line without numbers is a heading."""
    before = None
    for number, row in enumerate(csv.reader(lines), start=1):
        if not row:
            continue
        try:
            at_s, mbit_per_s = (Decimal(cell.strip()) for cell in row[:2])
        except (InvalidOperation, ValueError):
            if number == 1 and len(row) > 1:
                continue
            what = f"{shown(','.join(row))} is not a time in seconds and a rate in Mbit/s"
            raise TraceError(f"{name}, line {number}: {what}") from None
        if not (at_s.is_finite() and mbit_per_s.is_finite()) or mbit_per_s < 0:
            raise TraceError(f"{name}, line {number}: {shown(','.join(row))} is no rate from 0 Mbit/s up")
        if before is not None and at_s <= before:
            raise TraceError(f"{name}, line {number}: {at_s} s is not after the row above it")
        before = at_s
        yield at_s, mbit_per_s
