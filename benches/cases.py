"""The cases: what every engine simulates, told to each in its own way."""

from __future__ import annotations

import json
from dataclasses import dataclass, replace

PACKET_BYTES = 1500
MSS_BYTES = 1448
NS = 1_000_000_000


@dataclass(frozen=True)
class Case:
    """CUBIC flows from one host to another over one bottleneck with a buffer of 1 BDP.

    Times are in seconds, `base_rtt_s` without queueing. Flows start `stagger_s` after each other.
    """

    name: str
    flows: int
    rate_bit_per_s: int
    base_rtt_s: float
    duration_s: float
    stagger_s: float = 0.1

    @property
    def buffer_packets(self) -> int:
        """One bandwidth-delay product, in packets of 1500 bytes."""
        return round(self.rate_bit_per_s * self.base_rtt_s / (8 * PACKET_BYTES))

    def lasting(self, duration_s: float) -> Case:
        """Return the same network, simulated for another time."""
        return replace(self, duration_s=duration_s)

    def utilisation(self, delivered_packets: int) -> float:
        """Return the share of the bottleneck's capacity that so many full packets are."""
        return delivered_packets * PACKET_BYTES * 8 / (self.rate_bit_per_s * self.duration_s)

    def peer_arguments(self) -> list[str]:
        """Return what the programs in `peers/` take on their command line, in their order."""
        return [
            str(self.flows),
            str(self.rate_bit_per_s),
            str(self.base_rtt_s / 2),
            str(self.buffer_packets),
            str(self.duration_s),
            str(self.stagger_s),
        ]

    def run_json(self) -> str:
        """Return the case as Tussle's engines take it: nothing sampled, no events."""
        duration_ns = round(self.duration_s * NS)
        return json.dumps(
            {
                "format": 1,
                "profile": "linux-6.1",
                "seed": 1,
                "duration_ns": duration_ns,
                "steady": {"from_ns": 0, "to_ns": duration_ns},
                "record": {"sampling": "off", "events": "off"},
                "elements": [
                    self._link("bottleneck", {"kind": "fifo", "limit_packets": self.buffer_packets}),
                    self._link("bottleneck-reverse", {"kind": "fifo"}),
                ],
                "flows": [self._flow(index) for index in range(self.flows)],
            }
        )

    def _link(self, name: str, queue: dict[str, object]) -> dict[str, object]:
        return {
            "name": name,
            "kind": "link",
            "rate_bit_per_s": self.rate_bit_per_s,
            "delay_ns": round(self.base_rtt_s * NS / 2),
            "queue": queue,
        }

    def _flow(self, index: int) -> dict[str, object]:
        return {
            "name": f"flow-{index}",
            "algorithm": "cubic",
            "start_ns": round(index * self.stagger_s * NS),
            "mss_bytes": MSS_BYTES,
            "forward": ["bottleneck"],
            "reverse": ["bottleneck-reverse"],
        }


CASES = (
    Case("one flow, 200 Mbit/s, 100 ms, 1 BDP", 1, 200_000_000, 0.1, 500.0),
    Case("ten flows, 1 Gbit/s, 100 ms, 1 BDP", 10, 1_000_000_000, 0.1, 100.0),
)
