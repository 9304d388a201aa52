"""Worlds with agents, which advance together: what all environments have in common."""

import copy
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np
import numpy.typing as npt
import polars as pl

from tussle import _core, units
from tussle.errors import TussleError, shown
from tussle.gym._episodes import Episode, Episodes, as_json
from tussle.gym._measured import NAMES, Floats, Measured
from tussle.gym.actions import Action, Given, action_of
from tussle.gym.observations import Observation, observation_of
from tussle.gym.rewards import Reward, reward_of
from tussle.scenario import Scenario

_NS_PER_MS = 1e6
_UNKNOWN_RTT_MS = 100.0
_RTT = "rtt"

ScenarioLike = Scenario | str | PathLike[str] | Mapping[str, Any]
ObservationLike = str | Observation | Callable[[Measured], Floats]
ActionLike = str | Action
RewardLike = str | Reward | Callable[[Measured], Floats]


@dataclass(frozen=True)
class Interval:
    """The time between two actions: a length, or a multiple of the smallest RTT so far."""

    ns: int | None
    rtts: float = 0.0

    @classmethod
    def parse(cls, given: str | float) -> "Interval":
        """Return an interval such as "30 ms", "2 rtt" or 2; raises TussleError for anything else."""
        if isinstance(given, str) and not given.strip().endswith(_RTT):
            try:
                ns = units.time(given)
            except units.UnitError as error:
                raise TussleError(f"interval: {error}, or a multiple of the RTT such as 2 rtt") from None
            if ns <= 0:
                raise TussleError("interval: it is 0; give a time such as 30 ms, or a multiple of the RTT")
            return cls(ns)
        try:
            rtts = float(given.strip().removesuffix(_RTT) if isinstance(given, str) else given)
        except (TypeError, ValueError):
            rtts = 0.0
        if isinstance(given, bool) or not 0 < rtts < np.inf:
            raise TussleError(
                f"interval: {shown(given)} is not an interval; give a time such as 30 ms, or a multiple of "
                "the RTT such as 2"
            )
        return cls(None, rtts)

    def of(self, min_rtt_ms: float) -> int:
        """Return the length, in ns, for the smallest RTT so far, in ms (NaN if it is unknown)."""
        if self.ns is not None:
            return self.ns
        known_ms = _UNKNOWN_RTT_MS if np.isnan(min_rtt_ms) else min_rtt_ms
        return max(1, round(self.rtts * known_ms * _NS_PER_MS))


class Arena:
    """Worlds with agents. Agents are numbered from 0 on, world by world."""

    def __init__(
        self,
        episodes: Episodes,
        flows: Sequence[str],
        worlds: int,
        *,
        interval: str | float,
        observation: ObservationLike,
        action: ActionLike,
        reward: RewardLike,
    ) -> None:
        self.episodes = episodes
        self.flows = list(flows)
        self.worlds = worlds
        self.interval = Interval.parse(interval)
        # Environments do not share state, though they may be given the same object.
        self.observation = copy.deepcopy(observation_of(observation))
        self.action = copy.deepcopy(action_of(action))
        self.reward = copy.deepcopy(reward_of(reward))
        agents = worlds * len(self.flows)
        for each in (self.observation, self.action, self.reward):
            each.allocate(agents)
        try:
            self._core = _core.Worlds(worlds, len(self.flows), self.action.kind, self.action.base)
        except ValueError as error:
            raise TussleError(f"action: {error}") from None
        # Refuses a scenario without the agents' flows before the first episode.
        for point in episodes.scenario.points():
            self._missing_flows(point.resolve(0))
        self._last = np.full((agents, len(NAMES)), np.nan)

    def _missing_flows(self, run: Mapping[str, Any]) -> None:
        names = [flow["name"] for flow in run["flows"]]
        for flow in self.flows:
            if flow not in names:
                raise TussleError(
                    f"flow: a point of the scenario has no flow {flow}; it has {', '.join(names)}"
                )

    def agents(self, world: int) -> list[int]:
        """Return the agents of a world."""
        return list(range(world * len(self.flows), (world + 1) * len(self.flows)))

    def begin(self, world: int, random: np.random.Generator, run: object = None) -> Measured:
        """Begin an episode in a world; return the first measurements of its agents."""
        episode = self.episodes.choose(random, self.flows, run)
        try:
            self._core.begin(world, as_json(episode), self.flows)
        except ValueError as error:
            raise TussleError(f"scenario: {error}") from None
        if self._core.is_done(world):
            raise TussleError(
                f"scenario: no agent connects within the run ({', '.join(self.flows)}); let a flow start "
                "earlier, or the run last longer"
            )
        for agent in self.agents(world):
            self._begin_agent(agent, episode)
        self._last[self.agents(world)] = self._read(self._core.measure(world))
        return Measured(self._last[self.agents(world)])

    def _begin_agent(self, agent: int, episode: Episode) -> None:
        self.observation.begin(agent)
        self.action.begin(agent, episode)
        self.reward.begin(agent)

    @staticmethod
    def _read(measured: bytes) -> Floats:
        return np.frombuffer(measured).reshape(-1, len(NAMES))

    def step(self, worlds: Sequence[int], agents: Sequence[int], given: Given) -> Measured:
        """Let agents act, one row of `given` for each, and simulate an interval in some worlds.

        Returns the measurements of all agents; those of worlds that did not advance are the last ones.
        """
        values = np.full(len(self._last), np.nan)
        if len(agents):
            values[list(agents)] = self.action.values(given, list(agents))
        intervals_ns = [0] * self.worlds
        for world in worlds:
            intervals_ns[world] = self.interval.of(self._min_rtt_ms(world))
        measured = self._read(self._core.step(values.tolist(), intervals_ns))
        advanced = ~np.isnan(measured[:, 0])
        self._last[advanced] = measured[advanced]
        return Measured(self._last.copy())

    def _min_rtt_ms(self, world: int) -> float:
        """Return the smallest RTT so far of the agent where that is largest; NaN if none is known."""
        known = Measured(self._last[self.agents(world)]).min_rtt_ms
        return float(np.nanmax(known)) if not np.isnan(known).all() else np.nan

    def observe(self, measured: Measured, agents: Sequence[int]) -> npt.NDArray[np.float32]:
        """Return what agents see: one row for each, computed from its row of `measured`."""
        space = self.observation.space
        return np.clip(self.observation.observe(measured, list(agents)), space.low, space.high).astype(
            np.float32
        )

    def rewards(self, measured: Measured, agents: Sequence[int]) -> Floats:
        """Return the rewards of agents, computed from their rows of `measured`."""
        return self.reward.reward(measured, list(agents))

    def is_done(self, world: int) -> bool:
        """Return whether the run of a world is over."""
        return self._core.is_done(world)

    def outcome(self, world: int) -> dict[str, pl.DataFrame]:
        """Return the tables of a run that is over, once; raises TussleError for one that is not."""
        try:
            tables = self._core.finish(world)
        except ValueError:
            raise TussleError(
                "outcome: there is none before the end of the run, and it can be taken once; step until the "
                "episode is truncated"
            ) from None
        return {name: pl.DataFrame(table) for name, table in tables.items()}


def checked(given: Any, shape: tuple[int, ...]) -> Given:
    """Return actions as an array of a shape; raises TussleError for another shape or for NaN."""
    actions = np.asarray(given, np.float64)
    if actions.shape != shape or np.isnan(actions).any():
        raise TussleError(f"action: its shape is {actions.shape}; give {shape} numbers, none of them NaN")
    return actions
