"""Actions of agents: from what a policy returns to a window or a rate."""

import math
from typing import ClassVar, Literal

import numpy as np
import numpy.typing as npt
from gymnasium import spaces

from tussle.errors import TussleError, shown, unknown
from tussle.gym._episodes import Episode
from tussle.gym._measured import Floats

Given = npt.NDArray[np.floating]

PACKET_BITS = 1500 * 8
"""Size of a packet on the wire, in bits, where a rate is counted in packets per second."""
MAX_WINDOW_PACKETS = 10_000


class Action:
    """The meaning of an action. A subclass may be passed as `action=` to every environment.

    One object serves all agents of an environment, each with a place from 0 on.
    """

    kind: ClassVar[Literal["window", "rate", "factor"]]
    """What `values` returns: a window in packets, a pacing rate in bit/s, or a factor of the window of
    `base`.
    """
    base: str = "cubic"
    """The algorithm that moves the window between actions; only with the kind "factor"."""
    space: spaces.Box
    """The actions of one agent."""

    def allocate(self, agents: int) -> None:
        """Make room for the state of that many agents."""

    def begin(self, agent: int, episode: Episode) -> None:
        """Begin an episode of one agent."""

    def values(self, given: Given, agents: list[int]) -> Floats:
        """Return the value for each agent, computed from its actions in the rows of `given`."""
        raise NotImplementedError


class AuroraAction(Action):
    """A change of the pacing rate: x (1 + alpha a) if a >= 0, else x / (1 - alpha a).

    Source: Jay et al., A Deep Reinforcement Learning Perspective on Internet Congestion Control, ICML 2019,
    equation for the sending rate, with alpha = 0.025; and their simulator, `src/gym/network_sim.py` of
    PCCproject/PCC-RL, which begins at a uniformly random 0.3 to 1.5 times the rate of the link and keeps to
    40 to 1000 packets per second with links of 100 to 500. Differences: the largest rate is twice that of the
    bottleneck, and the smallest at most a tenth of it, so that any path can be the environment; and
    actions are bounded by `limit`, by default to changes by a factor of two.
    """

    kind = "rate"

    def __init__(self, alpha: float = 0.025, limit: float = 40.0) -> None:
        for name, value in (("alpha", alpha), ("limit", limit)):
            if not isinstance(value, int | float) or not 0 < value < math.inf:
                raise TussleError(
                    f"action: {name} of AuroraAction is {shown(value)}; give a finite number above 0"
                )
        self.alpha = alpha
        self.space = spaces.Box(-limit, limit, (1,), np.float32)
        self.allocate(0)

    def allocate(self, agents: int) -> None:
        """Make room for the rates of that many agents."""
        self._rate_bit_per_s = np.zeros(agents)
        self._least, self._most = np.zeros(agents), np.zeros(agents)

    def begin(self, agent: int, episode: Episode) -> None:
        """Choose the first rate."""
        link = episode.rate_bit_per_s
        self._least[agent] = min(_LEAST_PACKETS_PER_S * PACKET_BITS, link / 10)
        self._most[agent] = 2 * link
        self._rate_bit_per_s[agent] = link * episode.random.uniform(0.3, 1.5)

    def values(self, given: Given, agents: list[int]) -> Floats:
        """Return the new rates, in bit/s."""
        change = self.alpha * given[:, 0].astype(np.float64)
        factor = np.where(change >= 0, 1 + np.abs(change), 1 / (1 + np.abs(change)))
        rates = np.clip(self._rate_bit_per_s[agents] * factor, self._least[agents], self._most[agents])
        self._rate_bit_per_s[agents] = rates
        return rates


_LEAST_PACKETS_PER_S = 40


class OrcaAction(Action):
    """A factor 4^a of the window of an algorithm, CUBIC by default, which continues from there.

    Source: Abbasloo et al., Classic Meets Modern: a Pragmatic Learning-Based Congestion Control for the
    Internet, SIGCOMM 2020: the window is 2^alpha times that of CUBIC, with alpha from -2 to 2; their code,
    `map_action` in `rl-module/envwrapper.py` of Soheil-ab/Orca, has 4^a with a from -1 to 1, as here.
    While the sender repairs losses, proportional rate reduction sets the window until it is ssthresh, as for
    any user of CUBIC.
    """

    kind = "factor"

    def __init__(self, base: str = "cubic") -> None:
        self.base = base
        self.space = spaces.Box(-1.0, 1.0, (1,), np.float32)

    def values(self, given: Given, agents: list[int]) -> Floats:  # noqa: ARG002
        """Return the factors."""
        return 4.0 ** given[:, 0].astype(np.float64)


class WindowAction(Action):
    """The congestion window itself, in packets; it stays until the next action, also after losses."""

    kind = "window"

    def __init__(self, most_packets: int = 1000) -> None:
        if not isinstance(most_packets, int) or not 1 < most_packets <= MAX_WINDOW_PACKETS:
            raise TussleError(
                f"action: most_packets of WindowAction is {shown(most_packets)}; give 2 to "
                f"{MAX_WINDOW_PACKETS}"
            )
        self.space = spaces.Box(1.0, float(most_packets), (1,), np.float32)

    def values(self, given: Given, agents: list[int]) -> Floats:  # noqa: ARG002
        """Return the windows, in packets."""
        return given[:, 0].astype(np.float64)


ACTIONS = {"aurora": AuroraAction, "orca": OrcaAction, "cwnd": WindowAction}


def action_of(given: "str | Action") -> Action:
    """Return an action by its name, or as it is; raises TussleError for anything else."""
    if isinstance(given, Action):
        return given
    if isinstance(given, str) and given in ACTIONS:
        return ACTIONS[given]()
    if isinstance(given, str):
        raise TussleError(f"action: {unknown('action', given, ACTIONS)}")
    raise TussleError(
        f"action: {shown(given)} is not an action; give one of {', '.join(ACTIONS)}, or an Action"
    )
