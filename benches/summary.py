"""Summarises the repetitions of each case as lines of a table."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, field
from statistics import median
from typing import Any

from cases import Case
from measure import Measurement

MILLION = 1_000_000
HEADER = (
    "",
    "simulated",
    "data packets",
    "packets/s of CPU time",
    "(min to max)",
    "wall",
    "CPU/packet",
    "tussle is",
    "utilisation",
    "retransmitted",
)


@dataclass
class Row:
    """Measurements of one engine in one case, one per round, or why there are none."""

    engine: str
    case: Case
    missing: str = ""
    measurements: list[Measurement] = field(default_factory=list[Measurement])

    def typical(self, value: Callable[[Measurement], float]) -> float:
        """Return the median over the rounds."""
        return median(value(m) for m in self.measurements)


def lines(rows: list[Row], reference: Row) -> list[str]:
    """Return the table of one case; `reference` is the engine that the others are compared with."""
    cells = [_cells(row, reference) if row.measurements else (row.engine,) for row in rows]
    measured = [line for line in [HEADER, *cells] if len(line) == len(HEADER)]
    widths = [max(len(line[column]) for line in measured) for column in range(len(HEADER))]
    widths[0] = max(len(row.engine) for row in rows)
    notes = ["", *(row.missing for row in rows)]
    return [
        f"{_align(line, widths)}{note}".rstrip() for line, note in zip([HEADER, *cells], notes, strict=True)
    ]


def _align(line: tuple[str, ...], widths: list[int]) -> str:
    """Join the cells of a line: the name aligned left, numbers right."""
    numbers = (cell.rjust(width) for cell, width in zip(line[1:], widths[1:], strict=False))
    return "  ".join([line[0].ljust(widths[0]), *numbers, ""])


def _cells(row: Row, reference: Row) -> tuple[str, ...]:
    speeds = [m.packets_per_cpu_s for m in row.measurements]
    delivered = round(row.typical(lambda m: m.delivered_packets))
    retransmitted = row.typical(lambda m: m.retransmitted_packets)
    return (
        row.engine,
        f"{row.case.duration_s:g} s",
        f"{delivered:,}",
        _rate(median(speeds)),
        f"({_rate(min(speeds))} to {_rate(max(speeds))})",
        _rate(row.typical(lambda m: m.delivered_packets / m.wall_s)),
        f"{1e9 / median(speeds):,.0f} ns",
        _ratio(row, reference),
        f"{row.case.utilisation(delivered):.1%}",
        f"{retransmitted / delivered:.3%}",
    )


def record(row: Row, reference: Row) -> dict[str, Any]:
    """Return the medians of a row, or why there are no measurements."""
    if not row.measurements:
        return {"engine": row.engine, "missing": row.missing}
    return {
        "engine": row.engine,
        "packets_per_s": row.typical(lambda m: m.packets_per_cpu_s),
        "times_slower": _times_slower(row, reference),
        "utilisation": row.case.utilisation(round(row.typical(lambda m: m.delivered_packets))),
    }


def _ratio(row: Row, reference: Row) -> str:
    if row is reference or not reference.measurements:
        return ""
    return f"{_times_slower(row, reference):.1f} x as fast"


def _times_slower(row: Row, reference: Row) -> float:
    """Return the median of the ratios within a round, where both ran under the same load."""
    pairs = zip(reference.measurements, row.measurements, strict=False)
    return median(base.packets_per_cpu_s / other.packets_per_cpu_s for base, other in pairs)


def _rate(packets_per_s: float) -> str:
    if packets_per_s >= MILLION:
        return f"{packets_per_s / MILLION:.2f} M/s"
    return f"{packets_per_s / 1e3:.1f} k/s"
