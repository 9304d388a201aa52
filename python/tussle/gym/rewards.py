"""Rewards of agents, computed from what they measured in an interval."""

from collections.abc import Callable

import numpy as np

from tussle.errors import TussleError, shown, unknown
from tussle.gym._measured import Floats, Measured
from tussle.gym.observations import LOSS_WEIGHT, delay_metric


class Reward:
    """The reward of an interval. A subclass may be passed as `reward=` to every environment.

    One object serves all agents of an environment, each with a place from 0 on.
    """

    def allocate(self, agents: int) -> None:
        """Make room for the state of that many agents."""

    def begin(self, agent: int) -> None:
        """Begin an episode of one agent."""

    def reward(self, measured: Measured, agents: list[int]) -> Floats:
        """Return the reward of each of these agents, computed from what it measured in the last interval."""
        raise NotImplementedError


class AuroraReward(Reward):
    """10 throughput - 1000 latency - 2000 loss, times 0.001.

    Throughput is in packets per second, latency the mean RTT in seconds (0 without samples), loss the share
    of packets that were lost. Source: Jay et al., A Deep Reinforcement Learning Perspective on Internet
    Congestion Control, ICML 2019; the scale is that of `src/gym/network_sim.py` of PCCproject/PCC-RL. The
    paper's links carry 100 to 500 packets per second: on faster ones throughput outweighs latency.
    """

    def __init__(
        self, throughput: float = 10.0, latency: float = 1000.0, loss: float = 2000.0, scale: float = 0.001
    ) -> None:
        self.weights = (throughput, latency, loss)
        self.scale = scale

    def reward(self, measured: Measured, agents: list[int]) -> Floats:  # noqa: ARG002
        """Return the weighted sums."""
        throughput, latency, loss = self.weights
        per_s = measured.delivered_packets / np.maximum(measured.interval_s, 1e-9)
        return (throughput * per_s - latency * measured.rtt_s - loss * measured.loss_share) * self.scale


class OrcaReward(Reward):
    """(throughput - 5 loss) / delay', relative to the largest throughput and the smallest RTT so far.

    Loss is a rate, as throughput is; delay' is the smoothed RTT divided by 1.25, but at least
    the smallest RTT. Source: Abbasloo et al., Classic Meets Modern, SIGCOMM 2020, and
    `rl-module/envwrapper.py` of Soheil-ab/Orca, which has this form.
    """

    def allocate(self, agents: int) -> None:
        """Make room for the largest throughputs of that many agents."""
        self._most = np.zeros(agents)

    def begin(self, agent: int) -> None:
        """Forget the largest throughput of one agent."""
        self._most[agent] = 0.0

    def reward(self, measured: Measured, agents: list[int]) -> Floats:
        """Return the relative power."""
        throughput = measured.throughput_mbit_per_s
        self._most[agents] = most = np.maximum(self._most[agents], throughput)
        gain = throughput - LOSS_WEIGHT * measured.mbit_per_s(measured.lost_packets)
        return np.divide(gain, most, out=np.zeros_like(gain), where=most > 0) * delay_metric(measured)


class FunctionReward(Reward):
    """A reward by a function of the measurements, which returns an array with a number for each agent."""

    def __init__(self, function: Callable[[Measured], Floats]) -> None:
        self._function = function

    def reward(self, measured: Measured, agents: list[int]) -> Floats:
        """Return what the function returns; raises TussleError if that has another shape."""
        found = np.asarray(self._function(measured), np.float64)
        if found.shape != (len(agents),):
            raise TussleError(
                f"reward: the function returned the shape {found.shape}; return a number for each of the "
                f"{len(agents)} agents"
            )
        return found


REWARDS = {"aurora": AuroraReward, "orca": OrcaReward}


def reward_of(given: "str | Reward | Callable[[Measured], Floats]") -> Reward:
    """Return a reward by its name, of a function, or as it is; raises TussleError for others."""
    if isinstance(given, Reward):
        return given
    if isinstance(given, str):
        if given in REWARDS:
            return REWARDS[given]()
        raise TussleError(f"reward: {unknown('reward', given, REWARDS)}")
    if callable(given):
        return FunctionReward(given)
    raise TussleError(
        f"reward: {shown(given)} is not a reward; give one of {', '.join(REWARDS)}, a function, or a Reward"
    )
