"""The environment with several agents in one world."""

from collections.abc import Mapping, Sequence
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl
from gymnasium import spaces
from gymnasium.utils import seeding
from pettingzoo import ParallelEnv

from tussle.errors import TussleError
from tussle.gym._arena import ActionLike, Arena, ObservationLike, RewardLike, ScenarioLike, checked
from tussle.gym._episodes import Episodes
from tussle.gym._measured import Measured

Seen = npt.NDArray[np.float32]


class ParallelCongestionEnv(ParallelEnv[str, Any, Any]):
    """A PettingZoo environment: several flows of one scenario are agents, by the names of the flows.

    `flows` are names or numbers of flows, by default all; other flows are rivals with their own algorithms.
    An agent enters at the first step after its flow has connected, and leaves when its flow has sent all its
    data or was stopped, or at the end of the run. While no agent is present, simulated time advances by
    itself. A multiple of the RTT as `interval` refers to the agent whose smallest RTT is largest. The other
    arguments, and episodes, are those of `tussle.gym.CongestionEnv`. Raises TussleError for mistakes.
    """

    metadata = {"name": "tussle_congestion_v0", "render_modes": []}  # noqa: RUF012
    render_mode = None

    def __init__(
        self,
        scenario: ScenarioLike,
        flows: Sequence[str | int] | None = None,
        *,
        interval: str | float = 1.0,
        observation: ObservationLike = "aurora",
        action: ActionLike = "aurora",
        reward: RewardLike = "aurora",
    ) -> None:
        episodes = Episodes(scenario)
        names = episodes.several_flows(flows)
        self._arena = Arena(
            episodes, names, 1, interval=interval, observation=observation, action=action, reward=reward
        )
        self.possible_agents = names
        self.agents: list[str] = []
        self.observation_spaces = dict.fromkeys(names, self._arena.observation.space)
        self.action_spaces = dict.fromkeys(names, self._arena.action.space)
        self._random: np.random.Generator | None = None

    def observation_space(self, agent: str) -> spaces.Space[Any]:
        """Return the observations of an agent."""
        return self.observation_spaces[agent]

    def action_space(self, agent: str) -> spaces.Space[Any]:
        """Return the actions of an agent."""
        return self.action_spaces[agent]

    def reset(
        self, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[dict[str, Seen], dict[str, dict[str, Any]]]:
        """Begin an episode; the option `run` is the index of a run of the scenario."""
        if seed is not None or self._random is None:
            self._random = seeding.np_random(seed)[0]
        measured = self._arena.begin(0, self._random, (options or {}).get("run"))
        self.agents = self._present(measured)
        return self._seen(measured, self.agents), self._infos(measured, self.agents)

    def step(
        self, actions: Mapping[str, Any]
    ) -> tuple[
        dict[str, Seen], dict[str, float], dict[str, bool], dict[str, bool], dict[str, dict[str, Any]]
    ]:
        """Perform the actions of the agents that are present, and simulate to the next ones."""
        if not self.agents:
            raise TussleError("step: no agent is left; begin another episode with reset")
        missing = [agent for agent in self.agents if agent not in actions]
        if missing:
            raise TussleError(
                f"actions: {missing[0]} has none; give one for each of {', '.join(self.agents)}"
            )
        before = self.agents
        shape = (len(before), *self._arena.action.space.shape)
        given = checked([actions[agent] for agent in before], shape)
        measured = self._arena.step([0], self._places(before), given)
        theirs, is_done = measured, self._arena.is_done(0)
        over = {agent: bool(theirs.is_over[self._place(agent)]) for agent in before}
        while not is_done and all(over.values()) and not self._entered(measured, before):
            measured = self._arena.step([0], [], np.empty((0, 1)))
            is_done = self._arena.is_done(0)
        # An agent that enters at the very end has nothing left to do.
        entered = [] if is_done else self._entered(measured, before)
        earned = self._arena.rewards(theirs.at(self._places(before)), self._places(before))
        rewards = dict(zip(before, map(float, earned), strict=True)) | dict.fromkeys(entered, 0.0)
        terminated = over | dict.fromkeys(entered, False)
        truncated = {agent: is_done and not terminated[agent] for agent in terminated}
        self.agents = [agent for agent in terminated if not (terminated[agent] or truncated[agent])]
        seen = self._seen(theirs, before) | self._seen(measured, entered)
        infos = self._infos(theirs, before) | self._infos(measured, entered)
        return seen, rewards, terminated, truncated, infos

    def outcome(self) -> dict[str, pl.DataFrame]:
        """Return the tables flows, samples, links and events of a run that is over, as a dataset has them.

        Raises TussleError before the end of the run.
        """
        return self._arena.outcome(0)

    def _place(self, agent: str) -> int:
        return self.possible_agents.index(agent)

    def _places(self, agents: Sequence[str]) -> list[int]:
        return [self._place(agent) for agent in agents]

    def _present(self, measured: Measured) -> list[str]:
        here = (measured.is_present > 0) & ~(measured.is_over > 0)
        return [agent for agent in self.possible_agents if here[self._place(agent)]]

    def _entered(self, measured: Measured, before: Sequence[str]) -> list[str]:
        return [agent for agent in self._present(measured) if agent not in before]

    def _seen(self, measured: Measured, agents: Sequence[str]) -> dict[str, Seen]:
        if not agents:
            return {}
        places = self._places(agents)
        return dict(zip(agents, self._arena.observe(measured.at(places), places), strict=True))

    def _infos(self, measured: Measured, agents: Sequence[str]) -> dict[str, dict[str, Any]]:
        return {agent: measured.of(self._place(agent)) for agent in agents}
