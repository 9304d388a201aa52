"""Environments with one agent each, which advance together."""

from collections.abc import Sequence
from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import polars as pl
from gymnasium.utils import seeding
from gymnasium.vector import AutoresetMode
from gymnasium.vector.utils import batch_space

from tussle.errors import TussleError, shown
from tussle.gym._arena import ActionLike, Arena, ObservationLike, RewardLike, ScenarioLike, checked
from tussle.gym._episodes import Episodes
from tussle.gym._measured import Measured

Seen = npt.NDArray[np.float32]
Flags = npt.NDArray[np.bool_]


class CongestionVectorEnv(gymnasium.vector.VectorEnv[Any, Any, Any]):
    """Many environments like `tussle.gym.CongestionEnv`, all of which advance in one call of the simulator.

    `num_envs` is their number; the other arguments are those of `CongestionEnv`. Each gives, for the same
    seed and actions, what a single one gives. `reset(seed=5)` seeds them with 5, 6, 7, …. One whose
    episode has ended begins the next one in the following step, which ignores its action
    (`AutoresetMode.NEXT_STEP`). Raises TussleError for mistakes.
    """

    metadata = {"autoreset_mode": AutoresetMode.NEXT_STEP, "render_modes": []}  # noqa: RUF012

    def __init__(
        self,
        scenario: ScenarioLike,
        flow: str | int | None = None,
        *,
        num_envs: int = 1,
        interval: str | float = 1.0,
        observation: ObservationLike = "aurora",
        action: ActionLike = "aurora",
        reward: RewardLike = "aurora",
    ) -> None:
        if not isinstance(num_envs, int) or num_envs < 1:
            raise TussleError(f"num_envs: it is {shown(num_envs)}; give 1 or more")
        episodes = Episodes(scenario)
        self._arena = Arena(
            episodes,
            [episodes.one_flow(flow)],
            num_envs,
            interval=interval,
            observation=observation,
            action=action,
            reward=reward,
        )
        self.num_envs = num_envs
        self._all = list(range(num_envs))
        self.single_observation_space = self._arena.observation.space
        self.single_action_space = self._arena.action.space
        self.observation_space = batch_space(self.single_observation_space, num_envs)
        self.action_space = batch_space(self.single_action_space, num_envs)
        self._randoms: list[np.random.Generator] = []
        self._ended = np.zeros(num_envs, np.bool_)

    def reset(
        self, *, seed: int | Sequence[int | None] | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode in every environment; the option `run` is the index of a run of the scenario."""
        seeds = self._seeds(seed)
        if not self._randoms:
            self._randoms = [seeding.np_random(each)[0] for each in seeds]
        else:
            for place, each in enumerate(seeds):
                if each is not None:
                    self._randoms[place] = seeding.np_random(each)[0]
        run = (options or {}).get("run")
        measured = [self._arena.begin(world, self._randoms[world], run).values for world in self._all]
        self._ended[:] = False
        first = Measured(np.concatenate(measured))
        return self._arena.observe(first, self._all), self._infos(first)

    def step(self, actions: Any) -> tuple[Seen, npt.NDArray[np.float64], Flags, Flags, dict[str, Any]]:
        """Perform an action in every environment, and simulate to the next ones."""
        given = checked(actions, (self.num_envs, *self._arena.action.space.shape))
        beginning = np.flatnonzero(self._ended).tolist()
        going = np.flatnonzero(~self._ended).tolist()
        seen = np.empty((self.num_envs, *self._arena.observation.space.shape), np.float32)
        rewards = np.zeros(self.num_envs)
        over, cut = np.zeros(self.num_envs, np.bool_), np.zeros(self.num_envs, np.bool_)
        first = [self._arena.begin(world, self._randoms[world]) for world in beginning]
        measured = self._arena.step(going, going, given[going])
        for world, each in zip(beginning, first, strict=True):
            seen[world] = self._arena.observe(each, [world])[0]
        if going:
            theirs = measured.at(going)
            rewards[going] = self._arena.rewards(theirs, going)
            seen[going] = self._arena.observe(theirs, going)
            over[going] = theirs.is_over > 0
            cut[going] = [self._arena.is_done(world) for world in going]
        cut &= ~over
        self._ended = over | cut
        return seen, rewards, over, cut, self._infos(measured)

    def outcome(self, index: int) -> dict[str, pl.DataFrame]:
        """Return the tables of the run of one environment, between its end and the next step.

        Raises TussleError at other times.
        """
        return self._arena.outcome(index)

    def _seeds(self, seed: int | Sequence[int | None] | None) -> Sequence[int | None]:
        if seed is None:
            return [None] * self.num_envs
        if isinstance(seed, int):
            return [seed + place for place in self._all]
        if len(seed) != self.num_envs:
            raise TussleError(f"seed: there are {len(seed)}; give one, or {self.num_envs}")
        return seed

    def _infos(self, measured: Measured) -> dict[str, Any]:
        return {"measured": measured}
