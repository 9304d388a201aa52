"""The table `[hosts]`: settings of the TCP of hosts, and those of the two hosts of a flow."""

from collections.abc import Iterable, Iterator
from typing import Annotated, Any, Literal

from pydantic import BeforeValidator

from tussle import units
from tussle.errors import nearest, shown
from tussle.host_profiles import DEFAULT_PROFILE, host_profiles
from tussle.scenario.axes import written
from tussle.scenario.fields import (
    AdvWinScale,
    Axis,
    ClockOffset,
    FirstThreshold,
    FirstWindow,
    Hz,
    Packets,
    QueueLength,
    RandomTime,
    Rate,
    Size,
    SizeOrOff,
    Switch,
    name_of,
    refusal,
)
from tussle.scenario.problems import Problem
from tussle.scenario.socket_buffers import SocketBuffer, buffer_problems, buffers_in_run
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
Timestamps = Annotated[Literal["random", "synchronised", "off"], _one_of("random", "synchronised", "off")]
Growth = Annotated[Literal["packet", "ack", "ack_corrected"], _one_of("packet", "ack", "ack_corrected")]
BufferTuning = Annotated[Literal["rising", "twice"], _one_of("rising", "twice")]
Reduction = Annotated[
    Literal["prr", "rate_halving", "immediate"], _one_of("prr", "rate_halving", "immediate")
]
Recovery = Annotated[Literal["rack", "rfc6675", "newreno"], _one_of("rack", "rfc6675", _NEWRENO)]
_NO_QUEUE = "none"
Qdisc = Annotated[
    Literal["none", "pfifo_fast", "fq", "fq_codel"], _one_of(_NO_QUEUE, "pfifo_fast", "fq", "fq_codel")
]


class Hosts(Table):
    """Settings of the TCP of hosts. They have Linux's names. A setting that is left out is the profile's."""

    profile: Axis[HostProfileName] | None = None
    """The host profile, which gives the settings that are left out, from `tussle list host-profiles`.
    Default: "bare"; for a flow's own host, the settings of `[hosts]`."""
    hz: Axis[Hz] | None = None
    """The number of timer ticks per second. On the kernel engine it needs a kernel that was built with it
    (`tussle kernel build --hz 100`)."""
    timestamps: Axis[Timestamps] | None = None
    """TCP timestamps (RFC 7323), and their origin: a "random" offset of each end of each connection, as by
    default in Linux (`net.ipv4.tcp_timestamps = 1`), or the same instant on all hosts ("synchronised", as
    `net.ipv4.tcp_timestamps = 2` on hosts that booted together). Only the algorithm lp depends on the origin:
    with a random offset it behaves like Reno. "off" (`net.ipv4.tcp_timestamps = 0`), at either end of a flow:
    headers are 12 bytes shorter, an ACK has room for four SACK blocks, retransmissions give no RTT samples,
    and only DSACKs and F-RTO show that a retransmission was not needed."""
    growth: Axis[Growth] | None = None
    """The unit by which the window of a sender grows: each acknowledged "packet", or each "ack", however
    many packets it acknowledges (`net.ipv4.tcp_abc = 0`, which the kernels that Tussle builds have again).
    Linux 2.6 counted ACKs, too, but corrected some algorithms for delayed ACKs ("ack_corrected"): in
    congestion avoidance CUBIC and YeAH count packets, and Scalable grows by 1/50 of a packet for each ACK."""
    sack: Axis[Switch] | None = None
    """Whether the host permits selective acknowledgements (`net.ipv4.tcp_sack`). Without them, at either end
    of a flow, the sender recovers by NewReno (RFC 6582), and sends no tail loss probes."""
    dsack: Axis[Switch] | None = None
    """Whether a receiver reports duplicates by SACK (`net.ipv4.tcp_dsack`, RFC 2883)."""
    recovery: Axis[Recovery] | None = None
    """The loss detection of a sender: by time ("rack", RFC 8985), by three packets that arrived above a hole
    ("rfc6675", as `net.ipv4.tcp_recovery = 0`), or by duplicate ACKs ("newreno", which is the same as
    `sack = false`)."""
    fack: Axis[Switch] | None = None
    """Whether a sender with `recovery = "rfc6675"` counts from the forward-most packet that was sacked, as if
    all below it had left the network (FACK, Mathis and Mahdavi 1996; `net.ipv4.tcp_fack` until Linux 4.14).
    It counts as usual once it has seen reordering. No kernel that Tussle builds has it."""
    early_retransmit: Axis[Switch] | None = None
    """Whether a sender with `recovery = "rfc6675"` or `"newreno"` that has fewer than four packets
    outstanding, and nothing more to send, retransmits the oldest when all others have arrived, a quarter of a
    round trip later (RFC 5827; `net.ipv4.tcp_early_retrans = 2` in Linux 3.5 to 4.13). No kernel that Tussle
    builds has it."""
    impatient: Axis[Switch] | None = None
    """Whether a sender without SACK restarts its retransmission timer with the first partial ACK of a
    recovery alone, so that a loss of many packets ends in a timeout (RFC 6582, 4, the Impatient variant of
    NewReno, as in ns-2). Linux restarts it with each (Slow-but-Steady). No kernel has it."""
    reduction: Axis[Reduction] | None = None
    """How a sender in recovery reduces its window: by proportional rate reduction ("prr", RFC 6937); by one
    packet for every second ACK, as before Linux 3.2 ("rate_halving"); or all at the loss ("immediate", RFC
    6675, 5), as in ns-2. The kernels of the kernel engine have "prr" alone."""
    tlp: Axis[Switch] | None = None
    """Whether a sender with SACK sends tail loss probes (RFC 8985; `net.ipv4.tcp_early_retrans` 3 or 0)."""
    frto: Axis[Switch] | None = None
    """Whether a sender detects spurious timeouts by F-RTO (RFC 5682; `net.ipv4.tcp_frto` 2 or 0)."""
    initial_cwnd: Axis[FirstWindow] | None = None
    """The congestion window of a new connection in packets (`initcwnd` of a route)."""
    initial_ssthresh: Axis[FirstThreshold] | None = None
    """The slow start threshold of a new connection in packets (`ssthresh` of a route, which Linux itself uses
    only after an earlier connection). Default: none, in every profile."""
    metrics_save: Axis[Switch] | None = None
    """Whether a sender keeps the slow start threshold, RTT and reordering of its ended connections for later
    ones to the same host, as Linux does by default before 5.6 (`net.ipv4.tcp_no_metrics_save = 0` and
    `net.ipv4.tcp_no_ssthresh_metrics_save = 0`). Flows of one `[[flows]]` table, by `arrivals` or `count`,
    have the same two hosts; those of different tables do not."""
    slow_start_after_idle: Axis[Switch] | None = None
    """Whether a sender reduces its window after idle time (`net.ipv4.tcp_slow_start_after_idle`)."""
    offloads: Axis[Switch] | None = None
    """Whether the host offloads segmentation, as Linux does by default: its TCP sends bursts of up to 64 kB
    (TSO, GSO), and consecutive packets that arrive at one instant are acknowledged as one (GRO). Otherwise
    each packet is handled by itself (`ip link set gso_max_segs 1`, `ethtool -K gro off`)."""
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
    established flow. With `rmem`, it is the buffer that the application asks for (`SO_RCVBUF`, as `iperf -w`
    does), which then does not grow; default: none."""
    rmem: Axis[SocketBuffer] | None = None
    """The receive buffer of a socket: minimum, default and maximum (`net.ipv4.tcp_rmem`), or "unlimited":
    large enough for the receive window. The window of a receiver is a part of its buffer, see
    `adv_win_scale`."""
    wmem: Axis[SocketBuffer] | None = None
    """The send buffer of a socket, for unsent and unacknowledged data: minimum, default and maximum
    (`net.ipv4.tcp_wmem`), or "unlimited". It grows with the congestion window."""
    moderate_rcvbuf: Axis[Switch] | None = None
    """Whether a receive buffer grows with what the application reads in a round trip
    (`net.ipv4.tcp_moderate_rcvbuf`)."""
    rcvbuf_tuning: Axis[BufferTuning] | None = None
    """The rule by which a receive buffer grows. "rising": twice the data that the application reads in a
    round trip, and more while that amount rises. "twice": twice that data, as until Linux 3.13, on the
    simulator only."""
    quickack: Axis[Switch] | None = None
    """Whether a receiver acknowledges every packet at once (`quickack` of a route). Otherwise it delays ACKs:
    it acknowledges every second packet, and a single one after at least 40 ms."""
    initial_rwnd: Axis[FirstWindow] | None = None
    """The receive window of a new connection in packets, if that is less than 64 kB (`initrwnd` of a route).
    Default: none, except for old kernels."""
    adv_win_scale: Axis[AdvWinScale] | None = None
    """The part of a receive buffer that is not window, because packets take more memory than their payload: 2
    to the power of -`adv_win_scale` (`net.ipv4.tcp_adv_win_scale`). With 0 or less, the window is 2 to the
    power of `adv_win_scale` of the buffer."""

    clock_offset: Axis[ClockOffset] | None = None
    """The time by which the clock of TCP timestamps is ahead of that of other hosts, in whole milliseconds,
    as on a host that booted earlier. Only the algorithm lp depends on it, and only with `timestamps =
    "synchronised"`. On the kernel engine it needs a kernel that Tussle built. Default: none, in every
    profile."""
    bus: Axis[Rate] | None = None
    """The rate of a bus that all packets of one host cross, in and out, such as the PCI bus of an old PC; it
    counts IP packets, as `path.rate` does. Each flow has hosts of its own. The bus of a router is
    `path.bus`. Default: none, in every profile."""
    ring: Axis[Packets] | None = None
    """The number of packets that wait for the bus; further ones are dropped (`ethtool -g`: the rings of a
    network device)."""
    noise: Axis[RandomTime] | None = None
    """The distribution of the time that the host takes to handle a packet, in and out, written as for
    jitter. It handles packets one after another, so that the mean time bounds its rate: 20 us are 50 000
    packets per second. Default: none, in every profile."""
    netdev_max_backlog: Axis[Packets] | None = None
    """The number of packets that wait until the host handles them; further ones are dropped
    (`net.core.netdev_max_backlog`). Without `noise` none waits."""

    qdisc: Axis[Qdisc] | None = None
    """The queue in front of the device of a sending host. With "none" a host has no queue. "fq" paces every
    TCP sender: it holds each packet until the time that the sender's pacing rate gives it. The device has the
    rate of the flow's `access` link, and packets wait in "pfifo_fast" and "fq_codel" only if it has one. The
    ACKs of a receiver do not wait in it."""
    txqueuelen: Axis[QueueLength] | None = None
    """The largest number of packets in the queue "pfifo_fast" (`ip link set … txqueuelen`). A packet that
    finds it full is dropped in the host. The sender takes that for congestion, and reduces its window."""
    limit_output: Axis[SizeOrOff] | None = None
    """The largest memory of a flow in the queue and the device of its host, a size
    (`net.ipv4.tcp_limit_output_bytes`). A second limit is 1 ms of data at the pacing rate, or two packets if
    that is more; if the sender paces, it is the only one. "off": neither limit, as before Linux 3.6."""

    def settings(self, below: dict[str, Any] | None = None) -> dict[str, Any]:
        """Return every setting that has a value, over those `below`; a profile replaces them."""
        given = self.model_dump(exclude_none=True)
        profile = given.pop("profile", None if below is not None else DEFAULT_PROFILE)
        return {**(host_profiles()[profile].values if profile else below or {}), **given}


def hosts_in_words(hosts: Hosts, flows: Iterable[tuple[Hosts | None, Hosts | None]]) -> str:
    """Return the profile of the hosts and the settings that differ from it; then those of the ends of flows.

    >>> hosts_in_words(Hosts(profile="linux-2.6.24", hz=[100, 250]), [(Hosts(tlp=False), None)])
    'linux-2.6.24, hz = 100 or 250; flow 0, sender: tlp = false'
    """
    words = [_in_words(hosts, DEFAULT_PROFILE)]
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


def host_problems(host: Hosts, below: str, settings: dict[str, Any], where: str) -> Iterator[Problem]:
    """Check a host without axes: its profile, or else the one `below`, had each of its settings.

    `settings` are those that the host has in the end.
    """
    name = str(host.profile or below)
    for key, never in host_profiles()[name].never.items():
        if (value := getattr(host, key)) in never:
            what = f"{shown(value)}; {name} never had it; leave it out, or give another profile"
            yield Problem(f"{where}.{key}", what)
    yield from buffer_problems(host.model_dump(), settings, where)


_OF_FLOWS = ("hystart", "ecn", "pacing", "receive_window")
"""Settings that a run has in its flows, and not in their hosts."""
_OF_QUEUES = ("qdisc", "txqueuelen", "limit_output")
"""Settings that a run has only if its hosts have a queue."""


_OF_THE_PATH = ("bus", "ring", "noise", "netdev_max_backlog")
"""Settings that a run has in its elements: see `tussle.scenario.host_elements`."""


def host_in_run(settings: dict[str, Any]) -> dict[str, Any]:
    """Return the host of a run, as crates/tussle-core/src/run/hosts.rs reads it."""
    elsewhere = (*_OF_FLOWS, *_OF_THE_PATH, *_OF_QUEUES, "clock_offset")
    host = {key: value for key, value in settings.items() if key not in elsewhere}
    if offset_ms := units.time(settings.get("clock_offset", 0)) // 10**6:
        host["clock_offset_ms"] = offset_ms
    if settings["qdisc"] != _NO_QUEUE:
        limit = settings["limit_output"]
        host |= {
            "qdisc": settings["qdisc"],
            "txqueuelen": settings["txqueuelen"],
            "limit_output_bytes": None if limit == "off" else units.size(limit),
        }
    if host["recovery"] == _NEWRENO:
        host |= {"recovery": "rack", "sack": False}
    return buffers_in_run(host)


def settings_of_end(hosts: Hosts, end: Hosts | None) -> dict[str, Any]:
    """Return the settings of one host of a flow."""
    return end.settings(hosts.settings()) if end else hosts.settings()


def device_rate_in_run(access_rate: object, sender: dict[str, Any]) -> dict[str, int]:
    """Return the rate of the sending device, which is that of the access link, if the device has a queue."""
    if access_rate is None or sender["qdisc"] == _NO_QUEUE:
        return {}
    return {"device_rate_bit_per_s": units.rate(access_rate)}


def queue_problems(hosts: Hosts, sender: Hosts | None, index: int, access_rate: object) -> Iterator[Problem]:
    """Check the queue of the host of the udp flow at `index`, whose hosts have no axes."""
    if device_rate_in_run(access_rate, settings_of_end(hosts, sender)):
        what = 'the queue of a host takes no udp yet; give "none", or leave out access.rate'
        yield Problem(f"flows.{index}.sender.qdisc", what)


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
