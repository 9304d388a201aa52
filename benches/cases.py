"""The cases that are measured, and their form for each engine."""

from __future__ import annotations

import json
from dataclasses import dataclass, field, replace
from typing import Any

PACKET_BYTES = 1500
MSS_BYTES = 1448
NS = 1_000_000_000


@dataclass(frozen=True)
class Case:
    """Flows from one host to another over one bottleneck with a buffer of 1 BDP.

    Times are in seconds, `base_rtt_s` without queueing. Flows start `stagger_s` after each other. Fields
    below `stagger_s` apply to Tussle only: peers simulate CUBIC over one link.
    """

    name: str
    flows: int
    rate_bit_per_s: int
    base_rtt_s: float
    duration_s: float
    stagger_s: float = 0.1
    start_packets: int = 0
    """Data packets delivered before instructions are counted."""
    algorithm: str = "cubic"
    receive_window_packets: int | None = None
    """Window that receivers advertise; `None`: so large that it does not limit."""
    hops: int = 1
    """Links in series in the forward direction, of the same rate; the first is the bottleneck."""
    losses: dict[str, Any] = field(default_factory=dict[str, Any])
    """An element behind the bottleneck that drops packets; none if empty."""
    sampling: str | dict[str, int] = "off"
    events: bool = False
    steady_to_s: float | None = None
    """End of the steady interval; `None`: the end of the run."""

    @property
    def buffer_packets(self) -> int:
        """One bandwidth-delay product, in packets of 1500 bytes."""
        return round(self.rate_bit_per_s * self.base_rtt_s / (8 * PACKET_BYTES))

    def lasting(self, duration_s: float) -> Case:
        """Return the same network, simulated for another time."""
        return replace(self, duration_s=duration_s)

    def utilisation(self, delivered_packets: int) -> float:
        """Return the share of the bottleneck's capacity that this many full packets use."""
        return delivered_packets * PACKET_BYTES * 8 / (self.rate_bit_per_s * self.duration_s)

    def peer_arguments(self) -> list[str]:
        """Return the arguments of the programs in `peers/`, in their order."""
        return [
            str(self.flows),
            str(self.rate_bit_per_s),
            str(self.base_rtt_s / 2),
            str(self.buffer_packets),
            str(self.duration_s),
            str(self.stagger_s),
        ]

    def run_json(self) -> str:
        """Return the case as a run for Tussle's engines, in JSON."""
        duration_ns = round(self.duration_s * NS)
        steady_to_ns = duration_ns if self.steady_to_s is None else round(self.steady_to_s * NS)
        limited = {"kind": "fifo", "limit_packets": self.buffer_packets}
        forward = [("bottleneck", limited), *((f"hop-{hop}", limited) for hop in range(1, self.hops))]
        links = [
            self._link(name, queue) for name, queue in [*forward, ("bottleneck-reverse", {"kind": "fifo"})]
        ]
        losses = [{"name": "losses", **self.losses}] if self.losses else []
        route = [name for name, _ in forward] + ["losses" for _ in losses]
        return json.dumps(
            {
                "format": 1,
                "profile": "linux-6.1",
                "seed": 1,
                "duration_ns": duration_ns,
                "steady": {"from_ns": 0, "to_ns": steady_to_ns},
                "record": {"sampling": self.sampling, "events": self.events},
                "elements": [*links, *losses],
                "flows": [self._flow(index, route) for index in range(self.flows)],
            }
        )

    def _link(self, name: str, queue: dict[str, object]) -> dict[str, object]:
        delay_s = self.base_rtt_s / 2 if name == "bottleneck-reverse" else self.base_rtt_s / 2 / self.hops
        return {
            "name": name,
            "kind": "link",
            "rate_bit_per_s": self.rate_bit_per_s,
            "delay_ns": round(delay_s * NS),
            "queue": queue,
        }

    def _flow(self, index: int, forward: list[str]) -> dict[str, object]:
        window = self.receive_window_packets
        return {
            "name": f"flow-{index}",
            "algorithm": self.algorithm,
            "start_ns": round(index * self.stagger_s * NS),
            "mss_bytes": MSS_BYTES,
            "receive_window_bytes": window and window * MSS_BYTES,
            "forward": forward,
            "reverse": ["bottleneck-reverse"],
        }


CASES = (
    Case("one flow, 200 Mbit/s, 100 ms, 1 BDP", 1, 200_000_000, 0.1, 500.0),
    Case("ten flows, 1 Gbit/s, 100 ms, 1 BDP", 10, 1_000_000_000, 0.1, 100.0),
    Case("fifty flows, 1 Gbit/s, 100 ms, 1 BDP", 50, 1_000_000_000, 0.1, 100.0),
    Case("a thousand flows, 10 Gbit/s, 100 ms, 1 BDP", 1000, 10_000_000_000, 0.1, 20.0, 0.001),
)
"""Cases that every engine simulates."""

ONE_IN_A_HUNDRED: dict[str, Any] = {"kind": "loss", "probability": 0.01}

COUNTED = (
    Case("one flow", 1, 200_000_000, 0.1, 20.0, start_packets=150_000),
    Case("ten flows", 10, 1_000_000_000, 0.1, 5.0, start_packets=200_000),
    Case("fifty flows", 50, 1_000_000_000, 0.1, 5.0, 0.02, start_packets=200_000),
    Case("a thousand flows", 1000, 10_000_000_000, 0.1, 1.8, 0.0005, start_packets=900_000),
    Case(
        "ten thousand packets in flight, 1 % lost",
        1,
        1_200_000_000,
        0.1,
        6.0,
        start_packets=300_000,
        algorithm="bbr",
        losses=ONE_IN_A_HUNDRED,
    ),
)
"""Cases for counting instructions: as `CASES` and recovery with a large window, but shorter.

About 150 thousand data packets are counted after `start_packets`.
"""
