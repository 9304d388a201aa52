"""What a host adds to the path of its flows: the bus that its packets share, and the time that they take."""

from collections.abc import Iterator
from typing import NamedTuple

from tussle import units
from tussle.scenario.distributions import run_distribution, time_distribution
from tussle.scenario.hosts import Hosts, settings_of_end
from tussle.scenario.network import Element
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Flow, Path

_RING = 256
"""Packets that wait for a router's bus, as for that of a host in the profile `bare`."""


class Ends(NamedTuple):
    """The elements of both hosts of a flow, in the order of the packets that they send."""

    sender: list[Element]
    receiver: list[Element]


def router_buses(path: Path) -> list[Element]:
    """Return the buses of a completed path's routers: of one more than it has bottlenecks, or of none."""
    if path.bus is None:
        return []
    ring = _RING if path.ring is None else path.ring
    return [_bus(f"router-{number}-bus", path.bus, ring) for number in range(1, 3 + len(path.links or ()))]


def routers_in_words(path: Path) -> str | None:
    """Return the settings of a path's routers, which may be axes; `None` without a bus.

    >>> routers_in_words(Path(bus=["1 Gbit/s", "2 Gbit/s"], ring=64))
    'bus = 1 Gbit/s or 2 Gbit/s, ring = 64'
    """
    given = {"bus": path.bus, "ring": _RING if path.ring is None else path.ring}
    several = {key: value if isinstance(value, tuple) else (value,) for key, value in given.items()}
    words = (f"{key} = {' or '.join(map(str, values))}" for key, values in several.items())
    return None if path.bus is None else ", ".join(words)


def end_elements(hosts: Hosts, flow: Flow, name: str) -> Ends:
    """Return the elements of the hosts of the flow with that name; a router has its bus from the path."""
    return Ends(
        _elements(hosts, flow.sender, f"{name}-sender", has_bus=not flow.between_routers),
        _elements(hosts, flow.receiver, f"{name}-receiver", has_bus=not flow.between_routers),
    )


def _elements(hosts: Hosts, end: Hosts | None, name: str, *, has_bus: bool) -> list[Element]:
    """Return the elements of one host; its packets cross them in both directions."""
    settings, found = settings_of_end(hosts, end), []
    if (noise := settings.get("noise")) is not None and time_distribution(noise).most():
        queue = {"kind": "fifo", "limit_packets": settings["netdev_max_backlog"]}
        found.append(
            {"name": f"{name}-noise", "kind": "processing", "time": run_distribution(noise), "queue": queue}
        )
    if has_bus and (rate := settings.get("bus")) is not None:
        found.append(_bus(f"{name}-bus", rate, settings["ring"]))
    return found


def _bus(name: str, rate: object, ring: object) -> Element:
    queue = {"kind": "fifo", "limit_packets": ring}
    return {
        "name": name,
        "kind": "link",
        "rate_bit_per_s": units.rate(rate),
        "delay_ns": 0,
        "queue": queue,
    }


def bus_problems(flow: Flow, path: Path, where: str) -> Iterator[Problem]:
    """Check the routers of a flow without axes; `path` is its completed path, and `where` its key."""
    if path.ring is not None and path.bus is None:
        yield Problem("path.ring", "the path has no bus; give path.bus")
    if not flow.between_routers:
        return
    for end, access in (("sender", "access"), ("receiver", "receiver_access")):
        host, link = getattr(flow, end), getattr(flow, access)
        if host is not None and host.bus is not None:
            yield Problem(f"{where}.{end}.bus", "the host is a router; give path.bus")
        if link.rate is not None or link.delay is not None or link.jitter is not None:
            yield Problem(f"{where}.{access}", "the host is a router, at the bottleneck; leave it out")
