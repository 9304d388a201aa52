"""What agents measure in an interval."""

from collections.abc import Sequence
from math import isnan

import numpy as np
import numpy.typing as npt

from tussle import _core

Floats = npt.NDArray[np.float64]

NAMES = tuple(_core.world_measurements())
_PLACES = {name: place for place, name in enumerate(NAMES)}
_MS_PER_S = 1e3
_BITS_PER_BYTE = 8
_BIT_PER_MBIT = 1e6


class Measured:
    """What agents measured in an interval: each attribute is an array with one number for each agent.

    Counted at the sender, in the interval: `delivered_packets` (known to have arrived), `sent_packets`
    (retransmissions included), `retransmitted_packets`, `lost_packets` (detected as lost), `marked_packets`
    (with an ECN-Echo), `timeouts`, `acks` and `rtt_samples`. Of these samples, in ms and NaN without any:
    `rtt_ms` is the mean, `least_rtt_ms` the smallest, and `rtt_increase_ms` the mean of the second half less
    that of the first (0 with fewer than two). At the end of the interval: `time_s` since the start of the
    run, `srtt_ms`, `min_rtt_ms` (of the connection so far), `cwnd_packets`, `in_flight_packets`,
    `pacing_mbit_per_s` (NaN if the sender does not pace), `is_present` (connected, 0 or 1) and `is_over`
    (all data is acknowledged, 0 or 1). `interval_s` is the length of the interval, `mss_bytes` the payload of
    a packet.
    """

    def __init__(self, values: Floats) -> None:
        self.values = values
        """One row for each agent, with columns in the order of `NAMES`."""

    def __getattr__(self, name: str) -> Floats:
        if name not in _PLACES:
            raise AttributeError(f"nothing measured is called {name}; there are {', '.join(NAMES)}")
        return self.values[:, _PLACES[name]]

    def __len__(self) -> int:
        return len(self.values)

    def of(self, place: int) -> dict[str, float]:
        """Return what one agent measured, by name, without what is unknown."""
        known = zip(NAMES, map(float, self.values[place]), strict=True)
        return {name: value for name, value in known if not isnan(value)}

    def at(self, places: Sequence[int]) -> "Measured":
        """Return what some agents measured."""
        return Measured(self.values[list(places)])

    def mbit_per_s(self, packets: Floats) -> Floats:
        """Return a number of packets of this interval as a rate of their payload, in Mbit/s."""
        bits = packets * self.mss_bytes * _BITS_PER_BYTE
        return np.divide(
            bits, self.interval_s * _BIT_PER_MBIT, out=np.zeros_like(bits), where=self.interval_s > 0
        )

    @property
    def throughput_mbit_per_s(self) -> Floats:
        """The rate of delivered payload, in Mbit/s."""
        return self.mbit_per_s(self.delivered_packets)

    @property
    def loss_share(self) -> Floats:
        """Lost packets as a share of those delivered or lost; 0 if there were none."""
        known = self.lost_packets + self.delivered_packets
        return np.divide(self.lost_packets, known, out=np.zeros_like(known), where=known > 0)

    @property
    def rtt_s(self) -> Floats:
        """The mean of the RTT samples, in s; 0 without any."""
        return np.nan_to_num(self.rtt_ms) / _MS_PER_S
