"""Recordings of a link's rate, in mahimahi's format or as a CSV of rates.

mahimahi's format has one line for each opportunity to send 1500 bytes, in ms. A CSV has rows of a time in
seconds and the rate from then on in Mbit/s, as the published measurements of mobile networks have them.
"""

from collections.abc import Sequence
from functools import lru_cache
from pathlib import Path
from typing import NamedTuple

from tussle.errors import shown
from tussle.scenario.recordings import MOST_MS, RecordingError, lines_of, modified_ns, steps
from tussle.units import RATE, rate

_OPPORTUNITY_BITS = 1500 * 8
_MOST_OPPORTUNITIES = 10_000_000
_MOST_BIT_PER_S = int(rate(RATE.most))


class Trace(NamedTuple):
    """The times at which 1500 bytes may be sent; they repeat after the last one."""

    opportunities_ms: tuple[int, ...]

    def rate_bit_per_s(self) -> int:
        """Return the mean rate."""
        return len(self.opportunities_ms) * _OPPORTUNITY_BITS * 1000 // self.opportunities_ms[-1]


def read_trace(file: str) -> Trace:
    """Return the recording in a file; raises RecordingError."""
    formats = "mahimahi's format, or a .csv of seconds and Mbit/s"
    return _read(Path(file), modified_ns(file, formats))


@lru_cache(maxsize=64)
def _read(path: Path, _modified_ns: int) -> Trace:
    lines = lines_of(path)
    read = _rates if path.suffix.lower() == ".csv" else _mahimahi
    opportunities = read(lines, path.name)
    if not opportunities or not opportunities[-1]:
        raise RecordingError(f"{path.name} has a duration of 0 ms; its last line must be more than 0")
    trace = Trace(tuple(opportunities))
    if trace.rate_bit_per_s() > _MOST_BIT_PER_S:
        rate = f"{trace.rate_bit_per_s() / 1e9:.0f} Gbit/s"
        raise RecordingError(f"{path.name} has {rate} on average; the limit is {RATE.most}")
    return trace


def _mahimahi(lines: Sequence[str], name: str) -> list[int]:
    opportunities: list[int] = []
    for number, line in enumerate(lines, start=1):
        if not (line.isascii() and line.isdecimal()) or int(line[:12]) > MOST_MS:
            raise RecordingError(f"{name}, line {number}: {shown(line)} is not a time in whole milliseconds")
        if opportunities and int(line) < opportunities[-1]:
            raise RecordingError(f"{name}, line {number}: {line} ms is before the line above it")
        opportunities.append(int(line))
    return opportunities


def _rates(lines: Sequence[str], name: str) -> list[int]:
    """Return the opportunities of a link that has these rates, each until the time of the next row.

    An opportunity is where the rate has added up to 1500 bytes, rounded up to a millisecond.
    """
    recorded = steps(lines, name, "a rate in Mbit/s")
    opportunities: list[int] = []
    # In millionths of a bit, which are exact.
    one, due, sent = _OPPORTUNITY_BITS * 10**6, _OPPORTUNITY_BITS * 10**6, 0
    for mbit_per_s, begin_us, end_us in recorded:
        bit_per_s = int(mbit_per_s * 10**6)
        then = sent + bit_per_s * (end_us - begin_us)
        if then > _MOST_OPPORTUNITIES * one:
            raise RecordingError(f"{name} carries more than {_MOST_OPPORTUNITIES} packets; shorten it")
        while due <= then:
            after_us = begin_us - (sent - due) // bit_per_s
            opportunities.append(-(-after_us // 1000))
            due += one
        sent = then
    if not opportunities:
        raise RecordingError(f"{name} never carries a packet of 1500 bytes; its rates are in Mbit/s")
    return opportunities
