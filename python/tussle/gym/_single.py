"""The environment with one agent."""

from typing import Any

import gymnasium
import numpy as np
import numpy.typing as npt
import polars as pl

from tussle.gym._arena import ActionLike, Arena, ObservationLike, RewardLike, ScenarioLike, checked
from tussle.gym._episodes import Episodes
from tussle.gym._measured import Measured

Seen = npt.NDArray[np.float32]


class CongestionEnv(gymnasium.Env[Any, Any]):
    """A Gymnasium environment: one flow of a scenario is the agent, all else its environment.

    `scenario` is a Scenario, a file, the name of a ready one, or the tables of a file. `flow` is the name or
    the number of the agent's flow; a scenario with one flow needs none. The other flows are its rivals, with
    their own algorithms. `interval` is the time between two actions: a time such as "30 ms", or a multiple of
    the smallest RTT so far. `observation` is "aurora", "orca", a function of what was measured
    (`tussle.gym.Measured`) that returns a row for each agent, or a `tussle.gym.Observation`; `action` is
    "aurora" (pacing rate), "orca" (a factor of CUBIC's window), "cwnd" (the window), or a
    `tussle.gym.Action`; `reward` is "aurora", "orca", a function that returns a number for each agent, or a
    `tussle.gym.Reward`.

    An episode begins when the agent has connected. Its run is a random point of the scenario with a random
    seed, both decided by the seed of `reset`; `reset(options={"run": 3})` chooses a run of the scenario by
    its index. An episode is truncated at the end of the run, and terminated when the flow has sent all its
    data or was stopped. An action takes effect at once, at the time of the step, whether or not an ACK
    arrives. `info` has all measurements by name. Raises TussleError for mistakes.
    """

    metadata = {"render_modes": []}  # noqa: RUF012 (Gymnasium declares it so)

    def __init__(
        self,
        scenario: ScenarioLike,
        flow: str | int | None = None,
        *,
        interval: str | float = 1.0,
        observation: ObservationLike = "aurora",
        action: ActionLike = "aurora",
        reward: RewardLike = "aurora",
    ) -> None:
        episodes = Episodes(scenario)
        self._arena = Arena(
            episodes,
            [episodes.one_flow(flow)],
            1,
            interval=interval,
            observation=observation,
            action=action,
            reward=reward,
        )
        self.observation_space = self._arena.observation.space
        self.action_space = self._arena.action.space

    def reset(
        self, *, seed: int | None = None, options: dict[str, Any] | None = None
    ) -> tuple[Seen, dict[str, Any]]:
        """Begin an episode; the option `run` is the index of a run of the scenario."""
        super().reset(seed=seed)
        measured = self._arena.begin(0, self.np_random, (options or {}).get("run"))
        return self._seen(measured), measured.of(0)

    def step(self, action: Any) -> tuple[Seen, float, bool, bool, dict[str, Any]]:
        """Perform an action, and simulate to the next one."""
        given = checked(action, self._arena.action.space.shape)
        measured = self._arena.step([0], [0], given[None])
        reward = float(self._arena.rewards(measured, [0])[0])
        is_over = bool(measured.is_over[0])
        is_cut = self._arena.is_done(0) and not is_over
        return self._seen(measured), reward, is_over, is_cut, measured.of(0)

    def outcome(self) -> dict[str, pl.DataFrame]:
        """Return the tables flows, samples, links and events of a run that is over, as a dataset has them.

        Raises TussleError before the end of the run.
        """
        return self._arena.outcome(0)

    def _seen(self, measured: Measured) -> Seen:
        return self._arena.observe(measured, [0])[0]
