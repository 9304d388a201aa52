"""Observations of agents: from measurements to what a policy sees."""

from collections.abc import Callable

import numpy as np
from gymnasium import spaces

from tussle.errors import TussleError, shown, unknown
from tussle.gym._measured import NAMES, Floats, Measured

DELAY_MARGIN = 1.25
"""Orca's beta: RTTs up to this multiple of the smallest are as good as the smallest."""
LOSS_WEIGHT = 5
"""Orca's zeta: the weight of the rate of losses against that of deliveries."""


class Observation:
    """What a policy sees. A subclass may be passed as `observation=` to every environment.

    One object serves all agents of an environment, each with a place from 0 on.
    """

    space: spaces.Box
    """The observations of one agent."""

    def allocate(self, agents: int) -> None:
        """Make room for the state of that many agents."""

    def begin(self, agent: int) -> None:
        """Begin an episode of one agent."""

    def observe(self, measured: Measured, agents: list[int]) -> Floats:
        """Return a row for each of these agents, computed from what it measured in the last interval."""
        raise NotImplementedError


class History(Observation):
    """A history of features: those of the last `history` intervals, the oldest first."""

    def __init__(self, low: list[float], high: list[float], neutral: list[float], history: int) -> None:
        if not isinstance(history, int) or history < 1:
            raise TussleError(f"observation: the history is {shown(history)} intervals; give 1 or more")
        self.history = history
        self._low, self._high, self._neutral = np.array(low), np.array(high), np.array(neutral)
        least, most = (np.tile(bound, history).astype(np.float32) for bound in (self._low, self._high))
        self.space = spaces.Box(least, most, dtype=np.float32)
        self.allocate(0)

    def allocate(self, agents: int) -> None:
        """Make room for the histories of that many agents."""
        self._rows = np.tile(self._neutral, (agents, self.history, 1))

    def begin(self, agent: int) -> None:
        """Forget the history of one agent."""
        self._rows[agent] = self._neutral

    def features(self, measured: Measured, agents: list[int]) -> Floats:
        """Return the features of the last interval, one row for each agent."""
        raise NotImplementedError

    def observe(self, measured: Measured, agents: list[int]) -> Floats:
        """Return the histories of agents, with the last interval."""
        new = np.clip(self.features(measured, agents), self._low, self._high)
        rows = np.concatenate([self._rows[agents][:, 1:], new[:, None]], axis=1)
        self._rows[agents] = rows
        return rows.reshape(len(agents), -1)


class AuroraObservation(History):
    """Latency gradient, latency ratio and sending ratio of the last ten intervals.

    Source: Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019;
    formulas and bounds from `src/common/sender_obs.py` of PCCproject/PCC-RL. The gradient is the mean RTT of
    the later half of an interval less that of the earlier half, divided by the interval (s/s); the latency
    ratio is the mean RTT divided by the smallest mean RTT so far; the sending ratio is packets sent divided
    by packets acknowledged. Difference: an interval without samples has the values 0, 1 and 1 of
    an undisturbed path, where the published code has a latency ratio of 0.
    """

    def __init__(self, history: int = 10) -> None:
        super().__init__([-1.0, 1.0, 0.0], [10.0, 1e4, 1e3], [0.0, 1.0, 1.0], history)

    def allocate(self, agents: int) -> None:
        """Make room for the histories, and the smallest latencies, of that many agents."""
        super().allocate(agents)
        self._least_ms = np.full(agents, np.inf)

    def begin(self, agent: int) -> None:
        """Forget the history of one agent."""
        super().begin(agent)
        self._least_ms[agent] = np.inf

    def features(self, measured: Measured, agents: list[int]) -> Floats:
        """Return latency gradient, latency ratio and sending ratio."""
        rtt_ms = measured.rtt_ms
        self._least_ms[agents] = least = np.fmin(self._least_ms[agents], rtt_ms)
        gradient = measured.rtt_increase_ms / 1e3 / np.maximum(measured.interval_s, 1e-9)
        latency_ratio = np.where(np.isnan(rtt_ms), 1.0, rtt_ms / least)
        sent, delivered = measured.sent_packets, measured.delivered_packets
        has_ratio = (delivered > 0) & (sent < 1000 * delivered)
        sending_ratio = np.divide(sent, delivered, out=np.ones_like(sent), where=has_ratio)
        return np.stack([gradient, latency_ratio, sending_ratio], axis=1)


class OrcaObservation(History):
    """Seven features of a Linux sender, relative to the largest throughput and the smallest RTT so far.

    Source: `rl-module/envwrapper.py` of Soheil-ab/Orca (Abbasloo et al., SIGCOMM 2020): throughput, pacing
    rate (at most 10) and five times the loss rate, each divided by the largest throughput so far; ACKs
    divided by the window; the time since the last observation, in s; the smallest RTT divided by the smoothed
    RTT; and the delay metric, min(1, 1.25 times that). `rec_dim` of their `params.json` is the history, 10.
    Difference: a sender that does not pace has the rate that Linux computes for it in congestion avoidance,
    1.2 windows per smoothed RTT.
    """

    def __init__(self, history: int = 10) -> None:
        high = [1.0, 10.0, 1e3, 1e3, 1e3, 1.0, 1.0]
        super().__init__([0.0] * 7, high, [0.0, 0.0, 0.0, 0.0, 0.0, 1.0, 1.0], history)

    def allocate(self, agents: int) -> None:
        """Make room for the histories, and the largest throughputs, of that many agents."""
        super().allocate(agents)
        self._most = np.zeros(agents)

    def begin(self, agent: int) -> None:
        """Forget the history of one agent."""
        super().begin(agent)
        self._most[agent] = 0.0

    def features(self, measured: Measured, agents: list[int]) -> Floats:
        """Return the seven features."""
        throughput = measured.throughput_mbit_per_s
        self._most[agents] = most = np.maximum(self._most[agents], throughput)
        window_mbit = measured.cwnd_packets * measured.mss_bytes * 8 / 1e6
        by_window = 1.2 * window_mbit / (measured.srtt_ms / 1e3)
        pacing = np.where(np.isnan(measured.pacing_mbit_per_s), by_window, measured.pacing_mbit_per_s)
        rates = [throughput, pacing, LOSS_WEIGHT * measured.mbit_per_s(measured.lost_packets)]
        relative = [np.divide(rate, most, out=np.zeros_like(most), where=most > 0) for rate in rates]
        acks = measured.acks / np.maximum(measured.cwnd_packets, 1)
        delay = measured.min_rtt_ms / measured.srtt_ms
        rows = [*relative, acks, measured.interval_s, delay, delay_metric(measured)]
        return np.nan_to_num(np.stack(rows, axis=1))


def delay_metric(measured: Measured) -> Floats:
    """Return Orca's delay metric: min(1, 1.25 times the smallest RTT divided by the smoothed RTT)."""
    return np.fmin(1.0, DELAY_MARGIN * measured.min_rtt_ms / measured.srtt_ms)


class FunctionObservation(Observation):
    """An observation by a function of the measurements, which returns an array with a row for each agent."""

    def __init__(self, function: Callable[[Measured], Floats], size: int) -> None:
        self._function = function
        self.space = spaces.Box(-np.inf, np.inf, (size,), np.float32)

    def observe(self, measured: Measured, agents: list[int]) -> Floats:
        """Return what the function returns; raises TussleError if that has another shape."""
        found = np.asarray(self._function(measured), np.float64)
        wanted = (len(agents), *self.space.shape)
        if found.shape != wanted:
            raise TussleError(f"observation: the function returned the shape {found.shape}; return {wanted}")
        return found


OBSERVATIONS = {"aurora": AuroraObservation, "orca": OrcaObservation}


def observation_of(given: "str | Observation | Callable[[Measured], Floats]") -> Observation:
    """Return an observation by its name, of a function, or as it is; raises TussleError for others."""
    if isinstance(given, Observation):
        return given
    if isinstance(given, str):
        if given in OBSERVATIONS:
            return OBSERVATIONS[given]()
        raise TussleError(f"observation: {unknown('observation', given, OBSERVATIONS)}")
    if callable(given):
        nothing = Measured(np.zeros((1, len(NAMES))))
        shape = np.shape(given(nothing))
        if len(shape) != 2 or shape[0] != 1:  # noqa: PLR2004 (agents and features)
            raise TussleError(
                f"observation: the function returned the shape {shape} for one agent; return (1, features)"
            )
        return FunctionObservation(given, shape[1])
    raise TussleError(
        f"observation: {shown(given)} is not an observation; give one of {', '.join(OBSERVATIONS)}, "
        "a function, or an Observation"
    )
