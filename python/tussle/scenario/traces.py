"""Recordings of a link in mahimahi's format: one line for each opportunity to send 1500 bytes, in ms."""

import stat
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
        raise TraceError(f"there is no file {shown(file)}; name one in mahimahi's format") from None
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
    opportunities: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not (line.isascii() and line.isdecimal()) or int(line[:12]) > _MOST_MS:
            raise TraceError(f"{path.name}, line {number}: {shown(line)} is not a time in whole milliseconds")
        if opportunities and int(line) < opportunities[-1]:
            raise TraceError(f"{path.name}, line {number}: {line} ms is before the line above it")
        opportunities.append(int(line))
    if not opportunities or not opportunities[-1]:
        raise TraceError(f"{path.name} has a duration of 0 ms; its last line must be more than 0")
    trace = Trace(tuple(opportunities))
    if trace.rate_bit_per_s() > _MOST_BIT_PER_S:
        rate = f"{trace.rate_bit_per_s() / 1e9:.0f} Gbit/s"
        raise TraceError(f"{path.name} has {rate} on average; the limit is {RATE.most}")
    return trace
