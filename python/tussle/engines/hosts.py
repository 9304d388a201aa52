"""Real machines over a real network, by the system's `ssh`."""

import hashlib
from collections import Counter
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import polars as pl

import tussle
from tussle.engines._sockets import refuse_own, refuse_settings
from tussle.errors import TussleError, argument
from tussle.hosts import Hosts, read_hosts
from tussle.hosts.connection import HostLost
from tussle.hosts.fleet import Fleet
from tussle.hosts.tables import tables_of
from tussle.kernel.agent import agent

_THE_PATH = "the real one, which the scenario's path only describes"


class HostsEngine:
    """The kernels of other machines, in real time, over the network between them."""

    name = "hosts"
    max_parallel_runs = 1

    def __init__(self, file: Path | None = None) -> None:
        self._file = file
        self._fleet: Fleet | None = None
        self._path: list[dict[str, Any]] | None = None

    def about(self) -> Mapping[str, str]:
        """Return name and version, the path, the agent's digest, and the contents of hosts.toml if given."""
        facts = {
            "name": self.name,
            "version": tussle.__version__,
            "path": _THE_PATH,
            "agent_sha256": hashlib.sha256(agent().read_bytes()).hexdigest(),
        }
        if self._file is not None:
            file = self.hosts().file
            facts["hosts"] = str(file)
            facts["hosts_sha256"] = hashlib.sha256(file.read_bytes()).hexdigest()
        return facts

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when a machine is missing, or cannot honour any part of `run`."""
        refuse_own(run)
        refuse_settings(run, self.name)
        _refuse_buses(run["flows"])
        self._refuse_paths(run["elements"])
        senders = self.hosts().sender_of([flow["name"] for flow in run["flows"]])
        fleet = self._connected()
        if lost := fleet.connect():
            raise TussleError("; ".join(lost.values()))
        for index, (flow, host) in enumerate(zip(run["flows"], senders, strict=True)):
            where = f"flows.{index}"
            if flow["algorithm"] == "udp":
                raise TussleError(
                    f"{where}.algorithm: the engine hosts sends no datagrams; give an algorithm"
                )
            if flow.get("parameters"):
                raise TussleError(
                    f"{where}.parameters: on a host, parameters belong to a module and affect all of its "
                    "connections; give none"
                )
            if flow.get("application", {}).get("kind") == "requests":
                raise TussleError(
                    f"{where}.application: the engine hosts does not wait for acknowledgements; give rate, "
                    "on_off or chunks"
                )
            try:
                if problem := fleet.unusable(host, [flow["algorithm"]]).get(flow["algorithm"]):
                    raise TussleError(f"{where}.algorithm: host {host.name}: {problem}")
            except HostLost as error:
                raise TussleError(str(error)) from error

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Execute the run in real time; a lost machine affects its own flows only.

        Raises TussleError when nothing can be measured any longer.
        """
        return tables_of(run, self._connected().execute(run))

    def close(self) -> None:
        """End the agents on the machines; they end with this process, too."""
        if self._fleet is not None:
            self._fleet.close()
            self._fleet = None

    def hosts(self) -> Hosts:
        """Return the machines; raises TussleError when none are given, or their file is invalid."""
        if self._fleet is not None:
            return self._fleet.hosts
        if self._file is None:
            raise TussleError(
                f"the engine hosts needs a list of machines: give {argument('hosts', 'hosts.toml')}"
            )
        return read_hosts(self._file)

    def _connected(self) -> Fleet:
        if self._fleet is None:
            self._fleet = Fleet(self.hosts())
        return self._fleet

    def _refuse_paths(self, elements: list[dict[str, Any]]) -> None:
        """Raise TussleError for requests of a scenario that a real path cannot honour."""
        for index, element in enumerate(elements):
            if element["kind"] not in {"link", "delay"} or element.get("changes"):
                what = "changes" if element.get("changes") else element["kind"]
                raise TussleError(
                    f"elements.{index}: {what}: the engine hosts measures over the existing path, and cannot "
                    "change it; leave this out of the scenario"
                )
        if self._path is None:
            self._path = elements
        elif self._path != elements:
            raise TussleError(
                "path: the path differs between runs, but the engine hosts measures over the existing one; "
                "vary something else"
            )


def _refuse_buses(flows: list[dict[str, Any]]) -> None:
    """Raise TussleError when packets cross a host of the run, which is an element of both directions."""
    for index, flow in enumerate(flows):
        crossed = Counter([*flow["forward"], *flow["reverse"]])
        if shared := [name for name, times in crossed.items() if times > 1]:
            raise TussleError(
                f"flows.{index}: {shared[0]}: the engine hosts leaves its machines as they are; leave out "
                "bus and noise"
            )


ENGINE = HostsEngine()
