"""All machines of a hosts.toml, and the execution of a run over them."""

import secrets
import time
from collections.abc import Callable, Iterable, Mapping
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass, field
from typing import Any

from tussle.errors import TussleError
from tussle.hosts import Host, Hosts
from tussle.hosts.connection import Connection, HostLost, Offset

_NS = 1_000_000_000
_SOON_NS = _NS
"""Time until a run starts, so that every machine has received the request."""
_DRAIN_S = 5.0
"""The agent's time limit for data in flight at the end (crates/tussle-agent/src/remote.rs)."""
_GRACE_S = 20.0
"""Time after the run until a silent machine is considered lost."""
_TOKEN_BYTES = 16


@dataclass
class Outcome:
    """Results of a run, by flow; those of lost machines are missing."""

    senders: list[Host]
    """Sender of each flow."""
    receiver: Host
    sent: dict[int, dict[str, Any]] = field(default_factory=dict)
    samples: list[bytes] = field(default_factory=list)
    """Arrow streams."""
    events: list[bytes] = field(default_factory=list)
    received: dict[int, dict[str, Any]] = field(default_factory=dict)
    hello: dict[str, dict[str, str]] = field(default_factory=dict)
    """Name and kernel of each machine, by its name in hosts.toml."""
    offsets_s: dict[str, tuple[float, float]] = field(default_factory=dict)
    """Offset of each time of day to the receiver's, and its largest error."""
    receiver_shortfall: str | None = None
    lost: dict[str, str] = field(default_factory=dict)
    """Reasons why machines are missing."""


class Fleet:
    """Connections that stay open from run to run, because each new one has to transfer the agent."""

    def __init__(self, hosts: Hosts) -> None:
        self.hosts = hosts
        self._open: dict[str, Connection] = {}

    def connect(self) -> dict[str, str]:
        """Connect to machines without a connection; return the reasons of failures, by the machines' names.

        Raises TussleError when this machine has no `ssh`, or another one cannot do what is asked.
        """

        def failure(host: Host) -> str | None:
            try:
                if host.name not in self._open:
                    self._open[host.name] = Connection(host)
            except HostLost as error:
                return str(error)
            return None

        with ThreadPoolExecutor(len(self.hosts.all)) as pool:
            failures = zip(self.hosts.all, pool.map(failure, self.hosts.all), strict=True)
            return {host.name: why for host, why in failures if why}

    def unusable(self, host: Host, algorithms: Iterable[str]) -> dict[str, str]:
        """Return the reasons why a machine cannot use algorithms, by their names; raises HostLost."""
        return self._open[host.name].ask({"usable": sorted(set(algorithms))})["unusable"]["problems"]

    def close(self) -> None:
        """End all agents."""
        for connection in self._open.values():
            connection.close()
        self._open.clear()

    def execute(self, run: Mapping[str, Any]) -> Outcome:
        """Execute a run; a lost machine is in `lost`, and affects its own flows only.

        Raises TussleError when no sender or no receiver is left, or one of them cannot honour the run.
        """
        senders = self.hosts.sender_of([flow["name"] for flow in run["flows"]])
        outcome = Outcome(senders, self.hosts.receiver, lost=self.connect())
        try:
            self._measure(run, outcome)
        except BaseException:
            # The state of the agents is unknown, so that they are ended.
            self.close()
            raise
        for name in outcome.lost:
            self._drop(name)
        return outcome

    def _measure(self, run: Mapping[str, Any], outcome: Outcome) -> None:
        receiver = self.hosts.receiver
        tokens = {flow: list(secrets.token_bytes(_TOKEN_BYTES)) for flow in range(len(run["flows"]))}
        part = {"run": run, "tokens": tokens}
        address = f"[{receiver.address}]" if ":" in str(receiver.address) else receiver.address
        everywhere = "[::]" if ":" in str(receiver.address) else "0.0.0.0"  # noqa: S104 (it asks for tokens)
        here = {"senders": [], "receivers": list(tokens), "listen": f"{everywhere}:{receiver.port}"}
        answer = self._with(receiver, outcome, lambda each: each.ask({"prepare": part | here}))
        self._refuse_without_receiver(outcome)
        to = {flow: f"{address}:{port}" for flow, port in answer["prepared"]["ports"].items()}
        for host in set(outcome.senders):
            own = [flow for flow, sender in enumerate(outcome.senders) if sender == host]
            sending = {"senders": own, "receivers": [], "listen": f"{everywhere}:0"}
            self._with(host, outcome, lambda each, sending=sending: each.ask({"prepare": part | sending}))
        if not set(outcome.senders) - {host for host in outcome.senders if host.name in outcome.lost}:
            raise TussleError("; ".join(outcome.lost.values()))
        self._start(to, outcome)
        self._refuse_without_receiver(outcome)
        self._collect(run, outcome)

    def _start(self, to: Mapping[str, str], outcome: Outcome) -> None:
        """Read all clocks, and start all machines at one instant."""
        offsets: dict[str, Offset] = {}
        taking_part = [self.hosts.receiver, *dict.fromkeys(outcome.senders)]
        for host in taking_part:
            if offset := self._with(host, outcome, Connection.offset):
                offsets[host.name] = offset
        at_ns = time.monotonic_ns() + _SOON_NS
        for host in taking_part:
            if host.name in offsets:
                theirs = {"at_ns": at_ns + offsets[host.name].ahead_ns, "to": to}
                self._with(host, outcome, lambda each, theirs=theirs: each.post({"start": theirs}))
        for host in taking_part:
            if connection := self._open.get(host.name):
                outcome.hello[host.name] = connection.hello
        base = offsets.get(self.hosts.receiver.name)
        for name, offset in offsets.items():
            if base is not None:
                ahead_s = (offset.time_of_day_ahead_ns - base.time_of_day_ahead_ns) / _NS
                outcome.offsets_s[name] = (ahead_s, (offset.error_ns + base.error_ns) / _NS)

    def _collect(self, run: Mapping[str, Any], outcome: Outcome) -> None:
        """Wait until the run is over, and take the results."""
        over_s = time.monotonic() + (_SOON_NS + run["duration_ns"]) / _NS + _DRAIN_S + _GRACE_S
        for host in dict.fromkeys(outcome.senders):
            answer = self._with(host, outcome, lambda each: each.result("sent", _left_s(over_s)))
            if answer:
                sent, arrow = answer
                outcome.sent |= {int(flow): each for flow, each in sent["senders"].items()}
                outcome.samples.append(arrow[: sent["samples_bytes"]])
                outcome.events.append(arrow[sent["samples_bytes"] :])
        receiver = self.hosts.receiver

        def finished(connection: Connection) -> dict[str, Any]:
            connection.result("sent", _left_s(over_s))
            return connection.ask("finish")["received"]

        if received := self._with(receiver, outcome, finished):
            outcome.received = {int(flow): each for flow, each in received["receivers"].items()}
            outcome.receiver_shortfall = received["shortfall"]
        if not outcome.sent and not outcome.received:
            raise TussleError("; ".join(outcome.lost.values()))

    def _with(self, host: Host, outcome: Outcome, work: Callable[[Connection], Any]) -> Any:
        """Run `work` with a machine's connection; `None` if the machine is lost, now or before."""
        if host.name in outcome.lost:
            return None
        try:
            return work(self._open[host.name])
        except HostLost as error:
            outcome.lost[host.name] = str(error)
            return None

    def _refuse_without_receiver(self, outcome: Outcome) -> None:
        if why := outcome.lost.get(self.hosts.receiver.name):
            raise TussleError(why)

    def _drop(self, name: str) -> None:
        if connection := self._open.pop(name, None):
            connection.close()


def _left_s(until_s: float) -> float:
    """Return the time left: at least a moment, for answers that have arrived already."""
    return max(0.1, until_s - time.monotonic())
