"""The bottleneck of a run, and how long flows take to converge at it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

BOTTLENECK = "bottleneck"
"""The name of the bottleneck in runs that are made from scenarios."""

_PACKET_BYTES = 1500
_BITS_PER_BYTE = 8
_CUBIC_C = 0.4
_CUBIC_BETA = 0.7


@dataclass(frozen=True)
class Bottleneck:
    """The properties of a link that decide how flows share it; `None` if a run does not give one."""

    rate_bit_per_s: float | None
    """The rate; with a trace, the mean rate."""
    base_rtt_ns: int | None
    """The propagation delay of both directions."""
    buffer_packets: int | None
    """The size of the buffer; if the queue counts bytes, in packets of 1500 bytes."""

    @classmethod
    def of_run(cls, run: Mapping[str, Any]) -> Bottleneck:
        """Return the bottleneck of a run that an engine receives."""
        elements = {element["name"]: element for element in run["elements"]}
        forward, reverse = elements.get(BOTTLENECK), elements.get(f"{BOTTLENECK}-reverse", {})
        if forward is None:
            return cls(None, None, None)
        base_rtt_ns = forward["delay_ns"] + reverse.get("delay_ns", 0)
        return cls(_rate_bit_per_s(forward), base_rtt_ns, _buffer_packets(forward.get("queue", {})))

    @property
    def sawtooth_s(self) -> float | None:
        """The time between two losses of a flow that fills path and buffer: the longer one of Reno and CUBIC.

        Reno regains half of its window W by one packet per round trip (RFC 5681); CUBIC needs
        K = ((1 - beta) W / C)^(1/3) seconds (RFC 9438, section 4.2). W is the BDP plus the buffer (one BDP if
        it is unknown), and the round trip has a full buffer.

        >>> round(Bottleneck(12e6, 40_000_000, 130).sawtooth_s, 9)  # W = 40 + 130; 85 round trips of 170 ms
        14.45
        """
        if not self.rate_bit_per_s or self.base_rtt_ns is None:
            return None
        packet_s = _PACKET_BYTES * _BITS_PER_BYTE / self.rate_bit_per_s
        bdp_packets = self.base_rtt_ns / 1e9 / packet_s
        buffer_packets = bdp_packets if self.buffer_packets is None else self.buffer_packets
        window_packets = bdp_packets + buffer_packets
        reno_s = window_packets / 2 * window_packets * packet_s
        cubic_s = ((1 - _CUBIC_BETA) * window_packets / _CUBIC_C) ** (1 / 3)
        return max(reno_s, cubic_s)


def _rate_bit_per_s(link: Mapping[str, Any]) -> float:
    if "opportunities_ms" in link:
        times_ms = link["opportunities_ms"]
        return len(times_ms) * _PACKET_BYTES * _BITS_PER_BYTE * 1e3 / times_ms[-1]
    return float(link["rate_bit_per_s"])


def _buffer_packets(queue: Mapping[str, Any]) -> int | None:
    size_bytes = queue.get("limit_bytes")
    limits = [queue.get("limit_packets"), None if size_bytes is None else size_bytes // _PACKET_BYTES]
    return min((limit for limit in limits if limit is not None), default=None)
