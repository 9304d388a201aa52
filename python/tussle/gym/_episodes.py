"""Episodes: the runs of a scenario, chosen by random numbers."""

import copy
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from os import PathLike
from typing import Any

import numpy as np

from tussle.errors import TussleError, shown, unknown
from tussle.experiment import loaded
from tussle.own_algorithms import is_own
from tussle.scenario import Bottleneck, Scenario

_SEEDS = 2**31


@dataclass(frozen=True)
class Episode:
    """One episode: a run, and the source of the random numbers of the environment in it."""

    run: Mapping[str, Any]
    random: np.random.Generator
    bottleneck: Bottleneck

    @property
    def rate_bit_per_s(self) -> float:
        """The rate of the bottleneck; 100 Mbit/s if the path has none."""
        return self.bottleneck.rate_bit_per_s or _UNLIMITED_BIT_PER_S


_UNLIMITED_BIT_PER_S = 1e8


class Episodes:
    """The runs of a scenario whose flows have agents."""

    def __init__(self, scenario: "Scenario | str | PathLike[str] | Mapping[str, Any]") -> None:
        self.scenario = loaded(scenario)
        self._points = self.scenario.points()
        self._first = self._points[0].resolve(0)

    @property
    def flow_names(self) -> list[str]:
        """The names of the flows at the first point."""
        return [flow["name"] for flow in self._first["flows"]]

    def one_flow(self, flow: str | int | None) -> str:
        """Return the name of the agent's flow; raises TussleError if it is unclear or unknown."""
        names = self.flow_names
        if flow is None:
            if len(names) == 1:
                return names[0]
            raise TussleError(f"flow: the scenario has {len(names)} flows; give one of {', '.join(names)}")
        return self.several_flows([flow])[0]

    def several_flows(self, flows: Sequence[str | int] | None) -> list[str]:
        """Return the names of the agents' flows, all by default; raises TussleError if one is unknown."""
        names = self.flow_names
        if flows is None:
            return names
        chosen = [self._flow(names, each) for each in flows]
        if not chosen or len(set(chosen)) < len(chosen):
            raise TussleError("flows: give at least one flow, and each once")
        return chosen

    @staticmethod
    def _flow(names: list[str], flow: str | int) -> str:
        if isinstance(flow, str) and flow in names:
            return flow
        if isinstance(flow, int) and not isinstance(flow, bool) and 0 <= flow < len(names):
            return names[flow]
        if isinstance(flow, str):
            raise TussleError(f"flow: {unknown('flow', flow, names)}")
        raise TussleError(f"flow: {shown(flow)} is not a flow; give a name or a number below {len(names)}")

    def choose(self, random: np.random.Generator, agents: Sequence[str], run: object = None) -> Episode:
        """Return an episode: a random point of the scenario with a random seed, or the run of that index.

        Raises TussleError for a run that does not exist.
        """
        if run is None:
            point = self._points[int(random.integers(len(self._points)))]
            chosen = point.resolve(int(random.integers(_SEEDS)))
        else:
            runs = self.scenario.runs()
            if not isinstance(run, int) or not 0 <= run < len(runs):
                raise TussleError(
                    f"options: the run is {shown(run)}; give a number from 0 to {len(runs) - 1}"
                )
            chosen = runs[run].run
        return Episode(_with_agents(chosen, agents), random, Bottleneck.of_run(chosen))


def _with_agents(run: Mapping[str, Any], agents: Sequence[str]) -> dict[str, Any]:
    """Return a run with agents in the place of the algorithms of their flows."""
    changed = copy.deepcopy(dict(run))
    for flow in changed["flows"]:
        if flow["name"] in agents:
            flow["parameters"] = {}
        elif is_own(flow["algorithm"]):
            raise TussleError(
                f"scenario: {flow['name']} has an algorithm in a Python file; give the rivals of an agent "
                "built-in algorithms"
            )
    return changed


def as_json(episode: Episode) -> str:
    """Return the run of an episode for the simulator."""
    return json.dumps(episode.run)
