"""The table `[hosts]`: settings of the TCP of hosts, and those of the two hosts of a flow."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from tussle import units
from tussle.errors import nearest, shown
from tussle.host_profiles import USUAL, host_profiles
from tussle.scenario.axes import written
from tussle.scenario.fields import Axis, FirstThreshold, FirstWindow, Hz, Size, Switch, name_of, refusal
from tussle.scenario.problems import Problem
from tussle.scenario.table import Table

_NEWRENO = "newreno"


def _one_of(*names: str) -> BeforeValidator:
    """Refuse a value that is not one of the names; the message has the nearest one and all of them."""
    all_of_them = " or ".join(f'"{name}"' for name in names)

    def check(value: object) -> str:
        if isinstance(value, str) and value in names:
            return value
        best = nearest(value, names) if isinstance(value, str) else None
        meant = f'did you mean "{best}"? ' if best else ""
        raise refusal(f"{shown(value)}; {meant}give {all_of_them}")

    return BeforeValidator(check)


HostProfileName = Annotated[str, BeforeValidator(name_of("a host profile", lambda: list(host_profiles())))]
Timestamps = Annotated[Literal["random", "synchronised"], _one_of("random", "synchronised")]
Growth = Annotated[Literal["packet", "ack"], _one_of("packet", "ack")]
Recovery = Annotated[Literal["rack", "rfc6675", "newreno"], _one_of("rack", "rfc6675", _NEWRENO)]


class Hosts(Table):
    """Settings of the TCP of hosts, with Linux's names. A setting that is left out is the profile's."""

    profile: Axis[HostProfileName] | None = None
    """The host profile, which gives the settings that are left out, from `tussle list host-profiles`.
    Default: "bare"; for a flow's own host, the settings of `[hosts]`."""
    hz: Axis[Hz] | None = None
    """The number of timer ticks per second. On the kernel engine it needs a kernel that was built with it
    (`tussle kernel build --hz 100`)."""
    timestamps: Axis[Timestamps] | None = None
    """The origin of TCP timestamps: a "random" offset of each end of each connection, as by default in Linux
    (`net.ipv4.tcp_timestamps = 1`), or the same instant on all hosts ("synchronised", as
    `net.ipv4.tcp_timestamps = 2` on hosts that booted together). Only the algorithm lp depends on it: with a
    random offset it behaves like Reno."""
    growth: Axis[Growth] | None = None
    """What the congestion window of a sender grows with: each acknowledged "packet", or each "ack", however
    many packets it acknowledges, as before Linux 3.10 (`net.ipv4.tcp_abc = 0`, which the kernels that Tussle
    builds have again)."""
    sack: Axis[Switch] | None = None
    """Whether the host permits selective acknowledgements (`net.ipv4.tcp_sack`). Without them, at either end
    of a flow, the sender recovers by NewReno (RFC 6582), and sends no tail loss probes."""
    dsack: Axis[Switch] | None = None
    """Whether a receiver reports duplicates by SACK (`net.ipv4.tcp_dsack`, RFC 2883)."""
    recovery: Axis[Recovery] | None = None
    """The loss detection of a sender: by time ("rack", RFC 8985), by three packets that arrived above a hole
    ("rfc6675", as `net.ipv4.tcp_recovery = 0`), or by duplicate ACKs ("newreno", which is the same as
    `sack = false`)."""
    prr: Axis[Switch] | None = None
    """Whether a sender in recovery reduces its window by proportional rate reduction (RFC 6937). Otherwise it
    halves its rate, one packet for every second ACK, as before Linux 3.2."""
    tlp: Axis[Switch] | None = None
    """Whether a sender with SACK sends tail loss probes (RFC 8985; `net.ipv4.tcp_early_retrans` 3 or 0)."""
    frto: Axis[Switch] | None = None
    """Whether a sender detects spurious timeouts by F-RTO (RFC 5682; `net.ipv4.tcp_frto` 2 or 0)."""
    initial_cwnd: Axis[FirstWindow] | None = None
    """The congestion window of a new connection in packets (`initcwnd` of a route)."""
    initial_ssthresh: Axis[FirstThreshold] | None = None
    """The slow start threshold of a new connection in packets (`ssthresh` of a route, which Linux itself uses
    only after an earlier connection). Default: none, in every profile."""
    slow_start_after_idle: Axis[Switch] | None = None
    """Whether a sender reduces its window after idle time (`net.ipv4.tcp_slow_start_after_idle`)."""
    hystart: Axis[Switch] | None = None
    """Whether CUBIC leaves slow start early (its parameter `hystart`, unless the flow gives it)."""
    ecn: Axis[Switch] | None = None
    """Whether a sender asks for ECN (RFC 3168; `net.ipv4.tcp_ecn` 1 or 2). Receivers accept it."""
    pacing: Axis[Switch] | None = None
    """Whether a sender paces its packets, as Linux does with the fq queue. Algorithms that need pacing are
    paced in any case."""
    receive_window: Axis[Size] | None = None
    """The largest window of a receiver. It begins at 64 kB and grows by two segments with each packet.
    Default: twice the capacity of the path and its buffers, at least 3 MiB, which does not limit an
    established flow."""

    def settings(self, below: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return every setting that has a value, over those `below`; a profile replaces them."""
        given = self.model_dump(exclude_none=True)
        profile = given.pop("profile", None if below is not None else USUAL)
        return {**(host_profiles()[profile].values if profile else below or {}), **given}


def hosts_in_words(hosts: Hosts, flows: Iterable[tuple[Hosts | None, Hosts | None]]) -> str:
    """Return the profile of the hosts and the settings that differ from it; then those of the ends of flows.

    >>> hosts_in_words(Hosts(profile="linux-2.6.24", hz=[100, 250]), [(Hosts(tlp=False), None)])
    'linux-2.6.24, hz = 100 or 250; flow 0, sender: tlp = false'
    """
    words = [_in_words(hosts, USUAL)]
    for index, ends in enumerate(flows):
        for end, own in zip(("sender", "receiver"), ends, strict=True):
            if own is not None and (changed := _in_words(own, "")):
                words.append(f"flow {index}, {end}: {changed}")
    return "; ".join(words)


def _in_words(hosts: Hosts, usual: str) -> str:
    given = hosts.model_dump(exclude_none=True)
    named = [_values(given.pop("profile", usual))] if hosts.profile or usual else []
    return ", ".join([*named, *(f"{key} = {_values(value)}" for key, value in given.items())])


def _values(value: object) -> str:
    return " or ".join(map(written, value)) if isinstance(value, list | tuple) else written(value)


def host_problems(host: Hosts, below: str, where: str) -> Iterator[Problem]:
    """Check a host without axes: its profile, or else the one `below`, had each of its settings."""
    name = str(host.profile or below)
    for key, never in host_profiles()[name].never.items():
        if (value := getattr(host, key)) in never:
            what = f"{shown(value)}; {name} never had it; leave it out, or give another profile"
            yield Problem(f"{where}.{key}", what)


_OF_FLOWS = ("hystart", "ecn", "pacing", "receive_window")
"""Settings that a run has in its flows, and not in their hosts."""


def host_in_run(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the host of a run, as crates/tussle-core/src/run/hosts.rs reads it."""
    host = {key: value for key, value in settings.items() if key not in _OF_FLOWS}
    if host["recovery"] == _NEWRENO:
        host |= {"recovery": "rack", "sack": False}
    return host


def settings_of_end(hosts: Hosts, end: Hosts | None) -> dict[str, Any]:
    """Return the settings of one host of a flow."""
    return end.settings(hosts.settings()) if end else hosts.settings()


def window_problems(
    hosts: Hosts, receiver: Hosts | None, index: int, segment_bytes: int
) -> Iterator[Problem]:
    """Check the receive window of the flow at `index`, whose hosts have no axes, against its segments."""
    window = settings_of_end(hosts, receiver).get("receive_window")
    if window is not None and units.size(window) < segment_bytes:
        own = receiver is not None and receiver.receive_window is not None
        where = f"flows.{index}.receiver" if own else "hosts"
        what = f"{window} has no room for a segment of flow {index}; give at least {segment_bytes} B"
        yield Problem(f"{where}.receive_window", what)


def ends_in_run(hosts: Hosts, ends: dict[str, Hosts | None]) -> dict[str, Any]:
    """Return the hosts of a flow that differ from `hosts`, by their key in a run."""
    below = hosts.settings()
    own = {end: host_in_run(host.settings(below)) for end, host in ends.items() if host is not None}
    return {end: host for end, host in own.items() if host != host_in_run(below)}


def hystart_in_run(algorithm: str, sender: dict[str, Any]) -> dict[str, int]:
    """Return the parameters of an algorithm that follow from the settings of its host."""
    return {"hystart": 0} if algorithm == "cubic" and not sender["hystart"] else {}
