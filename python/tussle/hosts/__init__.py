"""Real machines for the engine `hosts`: their description (hosts.toml), and the assignment of flows."""

import ipaddress
import socket
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from tussle.errors import TussleError, argument, shown, unknown
from tussle.scenario.text import read_toml

_ROLES = ("sender", "receiver")
_KEYS = {"ssh": str, "role": str, "address": str, "port": int, "flows": list, "ssh_config": str}
_MOST_PORT = 65_000


@dataclass(frozen=True)
class Host:
    """A machine, as described in hosts.toml."""

    name: str
    ssh: str
    """Destination of the command `ssh`."""
    role: str
    """`sender` or `receiver`."""
    address: str | None = None
    """For a receiver: the IP address that senders connect to."""
    port: int = 0
    """For a receiver: the port of the first flow; those of the others follow. 0: any free ports."""
    flows: tuple[str, ...] = ()
    """For a sender: names of its flows; empty: flows that no machine names, in turn with other such senders.
    """
    ssh_config: Path | None = None
    """A configuration for `ssh` in place of the user's."""


@dataclass(frozen=True)
class Hosts:
    """The machines of a file."""

    file: Path
    senders: tuple[Host, ...]
    receiver: Host

    @property
    def all(self) -> tuple[Host, ...]:
        """Every machine, the receiver first."""
        return (self.receiver, *self.senders)

    def sender_of(self, flows: list[str]) -> list[Host]:
        """Return the sender of each flow, by the flows' names; raises TussleError for a flow without one."""
        named = {flow: host for host in self.senders for flow in host.flows}
        if strange := sorted(set(named) - set(flows)):
            raise TussleError(
                f"{self.file}: hosts.{named[strange[0]].name}.flows: {unknown('flow', strange[0], flows)}"
            )
        free = [host for host in self.senders if not host.flows]
        rest = [flow for flow in flows if flow not in named]
        if rest and not free:
            raise TussleError(
                f"{self.file}: flow {rest[0]} has no sender; add it to the `flows` of a sender, or leave out "
                "the `flows` of one"
            )
        turns = {flow: free[turn % len(free)] for turn, flow in enumerate(rest)}
        return [named.get(flow) or turns[flow] for flow in flows]


def read_hosts(file: Path) -> Hosts:
    """Read hosts.toml; raises TussleError with the problem and its position."""
    contents = read_toml(file, str(file), f"give another file to {argument('hosts')}")
    for key in contents:
        if key != "hosts":
            raise TussleError(f"{file}: {unknown('table', key, ['hosts'])}")
    tables = contents.get("hosts", {})
    if not isinstance(tables, dict) or not all(isinstance(each, dict) for each in tables.values()):
        raise TussleError(f"{file}: write a table for each machine, like [hosts.laptop]")
    hosts = [_host(file, name, table) for name, table in tables.items()]
    receivers = [host for host in hosts if host.role == "receiver"]
    senders = tuple(host for host in hosts if host.role == "sender")
    if len(receivers) != 1:
        raise TussleError(f'{file} has {len(receivers)} machines with role = "receiver"; there must be one')
    if not senders:
        raise TussleError(f'{file} has no machine with role = "sender"; at least one is needed')
    return Hosts(file, senders, receivers[0])


def _host(file: Path, name: str, table: Mapping[str, Any]) -> Host:
    def wrong(key: str, problem: str) -> TussleError:
        return TussleError(f"{file}: hosts.{name}.{key}: {problem}")

    for key, value in table.items():
        if key not in _KEYS:
            raise wrong(key, unknown("key", key, _KEYS))
        if type(value) is not _KEYS[key]:
            raise wrong(key, f"{shown(value)} is not a {_WORDS[_KEYS[key]]}")
    for key in ("ssh", "role"):
        if key not in table:
            raise TussleError(f"{file}: hosts.{name} has no {key}; {_EXAMPLES[key]}")
    role, ssh = table["role"], table["ssh"]
    if role not in _ROLES:
        raise wrong("role", unknown("role", role, _ROLES))
    if not ssh or ssh.startswith("-"):
        raise wrong("ssh", f"{shown(ssh)} is not a destination; {_EXAMPLES['ssh']}")
    ours = {"sender": "flows", "receiver": "address"}[role]
    for key in {"address", "port", "flows"} - {ours, "port" if role == "receiver" else ours}:
        if key in table:
            raise wrong(key, f"a {role} has no {key}; leave it out")
    if role == "receiver" and "address" not in table:
        raise TussleError(f"{file}: hosts.{name} has no address; {_EXAMPLES['address']}")
    if not 0 <= table.get("port", 0) <= _MOST_PORT:
        raise wrong("port", f"{table['port']} is not between 0 and {_MOST_PORT}")
    if not all(isinstance(flow, str) for flow in table.get("flows", [])):
        raise wrong("flows", "write names of flows, as the scenario has them")
    config = table.get("ssh_config")
    return Host(
        name=name,
        ssh=ssh,
        role=role,
        address=_resolved(table["address"], wrong) if "address" in table else None,
        port=table.get("port", 0),
        flows=tuple(table.get("flows", [])),
        ssh_config=file.parent.absolute() / config if config else None,
    )


_WORDS = {str: "text in quotes", int: "whole number", list: "list"}
_EXAMPLES = {
    "ssh": 'write what you type after `ssh`, like ssh = "me@laptop"',
    "role": 'write role = "sender" or role = "receiver"',
    "address": 'write the address that senders connect to, like address = "192.0.2.7"',
}


def _resolved(address: str, wrong: Any) -> str:
    """Return the IP address of a name; all senders receive the same one."""
    try:
        return str(ipaddress.ip_address(address))
    except ValueError:
        pass
    try:
        return str(socket.getaddrinfo(address, None, type=socket.SOCK_STREAM)[0][4][0])
    except OSError:
        raise wrong("address", f"{shown(address)} is neither an IP address nor a known name") from None
