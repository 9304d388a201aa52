"""The queue of a link in the format of mahimahi's `mm-link --uplink-log`.

A line has a time in whole milliseconds and an event: `+` and bytes for a packet that arrives, `d`, packets
and bytes for packets that the queue drops, `-`, bytes and the delay since the arrival for a packet that has
been transmitted, and `#` and bytes for a delivery opportunity: a time at which the link could have
transmitted that much more. Source: `src/frontend/link_queue.cc` of mahimahi (R. Netravali et al.,
"Mahimahi: Accurate Record-and-Replay for HTTP", USENIX ATC 2015).
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tussle.errors import TussleError

_OPPORTUNITY_BYTES = 1500
"""A full packet, and what an opportunity of a recording carries in the simulator."""
_NS_PER_MS = 1_000_000
_NS_BITS = 8 * 1_000_000_000
"""Transmission time of one byte at 1 bit/s, in ns."""


@dataclass(frozen=True)
class QueueLog:
    """The packets of one link in a run."""

    title: str
    tool: str
    """The program that produced the run, with its version."""
    link: Mapping[str, Any]
    """The link, as an element of the run."""
    duration_ns: int
    table: pl.DataFrame
    """The simulator's table `queue`."""


def write_mahimahi(log: QueueLog, path: Path) -> None:
    """Write the log; simulated time starts at 0.

    Raises TussleError when the link has no rate, and thus no delivery opportunities.
    """
    seen = log.table.filter(pl.col("time_ns") <= log.duration_ns)
    lines = pl.concat([_opportunities(log), seen.select("time_ns", _line())]).sort(
        "time_ns", maintain_order=True
    )
    times = (pl.col("time_ns") // _NS_PER_MS).cast(pl.String)
    with path.open("w", encoding="utf-8") as file:
        file.writelines(f"# {line}\n" for line in _header(log))
        written = lines.select(pl.concat_str(times, pl.lit(" "), "line"))
        file.writelines(f"{line}\n" for line in written.to_series())


def _header(log: QueueLog) -> Iterator[str]:
    limits = {unit: log.link["queue"].get(f"limit_{unit}") for unit in ("packets", "bytes")}
    given = ", ".join(f"{unit}={limit}" for unit, limit in limits.items() if limit is not None)
    yield f"{log.tool}, link {log.link['name']}, in the format of mahimahi mm-link"
    yield log.title
    yield f"queue: {log.link['queue']['kind']} [{given}]"
    yield "init timestamp: 0"
    yield "base timestamp: 0"


def _line() -> pl.Expr:
    """Return the line of an event without its time."""
    size = pl.col("size_bytes").cast(pl.String)
    delay_ms = pl.col("time_ns") // _NS_PER_MS - pl.col("arrival_ns") // _NS_PER_MS
    return (
        pl.when(pl.col("event") == "arrival")
        .then(pl.concat_str(pl.lit("+ "), size))
        .when(pl.col("event") == "drop")
        .then(pl.concat_str(pl.lit("d 1 "), size))
        .otherwise(pl.concat_str(pl.lit("- "), size, pl.lit(" "), delay_ms.cast(pl.String)))
        .alias("line")
    )


def _opportunities(log: QueueLog) -> pl.DataFrame:
    times = pl.Series("time_ns", list(_opportunities_ns(log)), pl.UInt64)
    return times.to_frame().with_columns(pl.lit(f"# {_OPPORTUNITY_BYTES}").alias("line"))


def _opportunities_ns(log: QueueLog) -> Iterator[int]:
    """Yield the times at which the link could have transmitted another `_OPPORTUNITY_BYTES`."""
    if log.link["kind"] == "trace":
        yield from _recorded_ns(log.link["opportunities_ms"], log.duration_ns)
    elif "rate_bit_per_s" in log.link:
        yield from _rated_ns(log.link, log.duration_ns)
    else:
        raise TussleError(
            f"{log.link['name']} has no rate, and a log in mahimahi's format needs the rate of its link; "
            "export the log of another link (--link)"
        )


def _recorded_ns(opportunities_ms: list[int], until_ns: int) -> Iterator[int]:
    """Yield the times of a recording, which starts again at its last time."""
    start_ns = 0
    while start_ns <= until_ns:
        for each in opportunities_ms:
            at_ns = start_ns + each * _NS_PER_MS
            if at_ns <= until_ns:
                yield at_ns
        start_ns += opportunities_ms[-1] * _NS_PER_MS


def _rated_ns(link: Mapping[str, Any], until_ns: int) -> Iterator[int]:
    """Yield the times at which the integral of the rate passes a multiple of an opportunity."""
    changes = [each for each in link.get("changes", []) if each.get("rate_bit_per_s") is not None]
    rates = [(0, link["rate_bit_per_s"]), *((each["at_ns"], each["rate_bit_per_s"]) for each in changes)]
    ends_ns = [*(at_ns for at_ns, _ in rates[1:]), until_ns + 1]
    work = _OPPORTUNITY_BYTES * _NS_BITS
    needed = work
    for (start_ns, rate), end_ns in zip(rates, ends_ns, strict=True):
        while (at_ns := start_ns + -(-needed // rate)) < min(end_ns, until_ns + 1):
            yield at_ns
            needed += work
        needed -= rate * (end_ns - start_ns)
