"""Environments for reinforcement learning: the simulator as the environment, with flows as agents.

    import gymnasium
    import tussle.gym

    env = gymnasium.make("tussle/Congestion-v0", scenario="one-cubic-flow-fills-the-link")

Needs the packages `gymnasium` and, for several agents, `pettingzoo`: the extra `gym`.
"""

from importlib.util import find_spec
from typing import TYPE_CHECKING, Any

from tussle.errors import TussleError

if find_spec("gymnasium") is None:
    raise TussleError('tussle.gym needs the package gymnasium; install it with: pip install "gymnasium>=1.1"')

import gymnasium

from tussle.gym._measured import Measured
from tussle.gym._single import CongestionEnv
from tussle.gym._vector import CongestionVectorEnv
from tussle.gym.actions import Action, AuroraAction, OrcaAction, WindowAction
from tussle.gym.observations import AuroraObservation, Observation, OrcaObservation
from tussle.gym.rewards import AuroraReward, OrcaReward, Reward

if TYPE_CHECKING:
    from tussle.gym._parallel import ParallelCongestionEnv

__all__ = [
    "Action",
    "AuroraAction",
    "AuroraObservation",
    "AuroraReward",
    "CongestionEnv",
    "CongestionVectorEnv",
    "Measured",
    "Observation",
    "OrcaAction",
    "OrcaObservation",
    "OrcaReward",
    "ParallelCongestionEnv",
    "Reward",
    "WindowAction",
]

ID = "tussle/Congestion-v0"

if ID not in gymnasium.registry:
    gymnasium.register(
        ID,
        entry_point="tussle.gym:CongestionEnv",
        vector_entry_point="tussle.gym:CongestionVectorEnv",
    )


def __getattr__(name: str) -> Any:
    """Import the environment of PettingZoo when it is used, because few need it."""
    if name != "ParallelCongestionEnv":
        raise AttributeError(f"module 'tussle.gym' has no attribute {name!r}")
    if find_spec("pettingzoo") is None:
        raise TussleError(
            "ParallelCongestionEnv needs the package pettingzoo; install it with: "
            'pip install "pettingzoo>=1.25"'
        )
    from tussle.gym._parallel import ParallelCongestionEnv

    return ParallelCongestionEnv
