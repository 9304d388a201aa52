"""Conversion of buffer sizes, written in packets, bytes, time or multiples of the BDP, to those of a run."""

from dataclasses import dataclass
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from tussle import units

PACKET_BYTES = 1500
_NS_PER_S = 10**9


class Link(NamedTuple):
    """The rate and the round-trip time, as written, that the size of a buffer may depend on."""

    rate: object
    rtt: object

    def bytes_in(self, time_ns: Fraction | int) -> Fraction:
        """Return how many bytes the link sends in a time."""
        return time_ns * Fraction(units.rate(self.rate), 8 * _NS_PER_S)


class Amount(NamedTuple):
    """The size of a buffer in the unit of its limit in the simulator; not rounded."""

    amount: Fraction
    unit: Literal["packets", "bytes"]
    one_packet: int = 0
    """The smallest value of a limit that depends on the path."""

    def packets(self) -> float:
        """Return the size in packets of 1500 bytes."""
        return float(self.amount if self.unit == "packets" else self.amount / PACKET_BYTES)

    def rounded(self) -> int:
        """Round to the nearest whole number; halves go up."""
        return int(self.amount + Fraction(1, 2))


def amount(written: object, link: Link) -> Amount:
    """Return the size of a buffer at a link."""
    buffer = units.buffer(written)
    match buffer.unit:
        case "packets" | "bytes":
            return Amount(buffer.amount, buffer.unit)
        case "ns":
            return Amount(link.bytes_in(buffer.amount), "bytes", one_packet=PACKET_BYTES)
        case "bdp":
            bdp_packets = link.bytes_in(units.time(link.rtt)) / PACKET_BYTES
            return Amount(buffer.amount * bdp_packets, "packets", one_packet=1)


@dataclass(frozen=True)
class BufferInRun:
    """How the size of a buffer is written in a run."""

    kind: Literal["limit", "threshold", "packets"]
    """A limit holds at least one packet, a threshold may be 0, and `packets` may be a fraction."""

    def of(self, name: str, written: object, link: Link | None) -> dict[str, Any]:
        """Return the key of the run with its value."""
        if link is None:
            raise ValueError(f"{name} is the size of a buffer, and needs a link")
        found = amount(written, link)
        match self.kind:
            case "limit":
                return {f"{name}_{found.unit}": max(found.one_packet, found.rounded())}
            case "threshold":
                return {f"{name}_{found.unit}": found.rounded()}
            case "packets":
                return {f"{name}_packets": found.packets()}
