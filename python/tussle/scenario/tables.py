"""The tables of a scenario file: path, queues, flows, measured interval and records.

The reference page of the scenario format is generated from these classes and their docstrings. The order of
the fields is the order of the axes.
"""

from typing import Annotated

from pydantic import Field

from tussle.scenario.application_kinds import ApplicationTable
from tussle.scenario.element_kinds import ElementTable
from tussle.scenario.fields import (
    Algorithms,
    Attempts,
    Axis,
    Count,
    Delay,
    Direction,
    Fading,
    FlowName,
    Fraction,
    LinkNumber,
    Packets,
    ParameterValue,
    PositiveTime,
    ProfileName,
    RandomSize,
    RandomTime,
    Rate,
    RoundTrip,
    Samples,
    Segment,
    Signal,
    Size,
    Stations,
    Switch,
    Time,
    TraceFile,
)
from tussle.scenario.hosts import Hosts
from tussle.scenario.queue_kinds import QUEUES, QueueTable
from tussle.scenario.table import Table


class Arq(Table):
    """Errors of a radio link at the bottleneck. The link retransmits damaged blocks and delivers in order."""

    block_error: Axis[Fraction] | None = None
    """The probability that a transmission of a block is damaged. Default: the profile's, or 0 %."""
    block: Axis[Size] | None = None
    """The size of a block. Default: the profile's, or each packet is one block."""
    attempts: Axis[Attempts] | None = None
    """The largest number of transmissions of a block. After the last one its packet is lost. Each
    transmission takes its time at the path's rate. Default: the profile's, or 1."""
    retry_delay: Axis[Delay] | None = None
    """The time from a damaged transmission to the retransmission of the block. Packets behind it wait.
    Default: the profile's, or none."""
    overhead: Axis[Delay] | None = None
    """The time that each transmission takes in addition to that of its bits. Default: the profile's, or
    none."""


class Wifi(Table):
    """A WiFi bottleneck (802.11g): stations on the medium, and the signal. `rate` is the highest rate."""

    stations: Axis[Stations] | None = None
    """The number of other stations. Each always has a full packet to send at 54 Mbit/s. Default: the
    profile's, or 0."""
    signal_dbm: Axis[Signal] | None = None
    """The mean received signal. It decides the highest rate: 54 Mbit/s from -65 dBm, 18 from -77, 6 from
    -82. Default: the profile's, or -50 dBm."""
    fading_db: Axis[Fading] | None = None
    """The standard deviation of the signal, which changes at random every 100 ms. The rate follows 100 ms
    later. Default: the profile's, or 0."""


class Reverse(Table):
    """The reverse path. By default it equals the forward path, without its loss and elements."""

    rate: Axis[Rate] | None = None
    """The rate of the bottleneck. Default: that of the forward path."""
    trace: Axis[TraceFile] | None = None
    """A recording of the bottleneck, instead of a rate. Default: that of the forward path."""
    loss: Axis[Fraction] | None = None
    """The fraction of packets that are lost at random. Default: 0."""
    arq: Arq | None = None
    """The errors of a radio link. Default: none."""
    wifi: Wifi | None = None
    """The medium, if the bottleneck is WiFi (802.11g). Default: none."""
    elements: tuple[ElementTable, ...] | None = None
    """The elements of the reverse path. Default: the profile's."""
    queue: QueueTable = QUEUES.empty()
    """The queue at the bottleneck of the reverse path. Default: as on the forward path; a limit by
    bandwidth-delay product or time follows from the rate of the reverse path."""


class Change(Table):
    """A change of the bottleneck during the run.

    A packet in transmission finishes at the old rate. No packet overtakes another when the delay becomes
    shorter. Limits by bandwidth-delay product or time follow from the first rate.
    """

    at: Axis[PositiveTime]
    """The time of the change, later than that of the change before."""
    rate: Axis[Rate] | None = None
    """The new rate. Default: no change."""
    rtt: Axis[RoundTrip] | None = None
    """The new round-trip time, half of it in each direction. Default: no change."""
    reverse_rate: Axis[Rate] | None = None
    """The new rate of the reverse path. Default: `rate` of this change if the path has no `reverse.rate`,
    else no change."""


class FurtherLink(Table):
    """A further bottleneck, with the path's queues, and without its errors and elements."""

    rate: Axis[Rate] | None = None
    """The rate in both directions. Default: the path's rate in each direction, or the mean of its
    recording."""
    rtt: Axis[RoundTrip] | None = None
    """The round-trip time that the link adds, half of it in each direction. Limits of its queues by
    bandwidth-delay product follow from its own rate and round-trip time. Default: that of the path's first
    bottleneck."""


class Path(Table):
    """The path that all flows have in common. A key that is given here overrides the profile's."""

    profile: Axis[ProfileName] | None = None
    """The profile that gives the keys which the path does not, from `tussle list profiles`. Default: none."""
    rate: Axis[Rate] | None = None
    """The rate of the bottleneck, which counts IP packets. Required, unless a profile or a trace gives it."""
    trace: Axis[TraceFile] | None = None
    """A recording of the bottleneck, instead of a rate. In mahimahi's format the file has one line for each
    opportunity to send 1500 bytes, in ms. A file whose name ends in ".csv" has rows of a time in seconds and
    the rate from then on in Mbit/s, below a heading or none; further columns are ignored, and the last rate
    lasts as long as the one before it. Either repeats after its last opportunity. Tussle looks for the file
    beside the scenario, then in the current folder. Limits by bandwidth-delay product or time follow from the
    mean rate. Default: none."""
    rtt: Axis[RoundTrip] | None = None
    """The round-trip time of the bottleneck with an empty queue, half of it in each direction. Required,
    unless a profile gives it."""
    loss: Axis[Fraction] | None = None
    """The fraction of packets that are lost at random before the bottleneck, independently. Default: 0."""
    arq: Arq | None = None
    """The errors of a radio link at the bottleneck. Default: the profile's, or none."""
    wifi: Wifi | None = None
    """The medium, if the bottleneck is WiFi (802.11g). Default: the profile's, or none."""
    queue: QueueTable = QUEUES.empty()
    """The queue at the bottleneck."""
    bus: Axis[Rate] | None = None
    """The rate of the bus of each router, in IP packets: a host that forwards packets, at either end of each
    bottleneck. All packets of one router share it, in all directions, and a forwarded packet crosses it
    twice, in and out. Default: no limit."""
    ring: Axis[Packets] | None = None
    """The number of packets that wait for a router's bus; further ones are dropped. Default: 256."""
    elements: tuple[ElementTable, ...] | None = None
    """The elements of the forward path. Default: the profile's."""
    reverse: Reverse = Reverse()
    """The path from the receivers to the senders."""
    links: tuple[FurtherLink, ...] | None = None
    """Further bottlenecks in a row behind the first, where flows may enter and leave: a parking lot. Their
    names are bottleneck-2, bottleneck-3 and so on. Metrics of the bottleneck are about the first. Default:
    none."""
    changes: tuple[Change, ...] | None = None
    """Changes of rate and round-trip time during the run. Default: the profile's."""


class Access(Table):
    """The access link of a flow. It is equal in both directions, and its queue has no limit."""

    rate: Axis[Rate] | None = None
    """The rate. Default: unlimited."""
    delay: Axis[Delay] | None = None
    """The one-way delay, in addition to the path's. Default: none."""
    jitter: Axis[RandomTime] | None = None
    """The distribution of a random delay of each packet of this flow alone, in addition to `delay`, in both
    directions, written as for the element jitter. Packets keep their order. Default: none."""


class Flow(Table):
    """A sender and its receiver, or `count` such pairs."""

    algorithm: Algorithms
    """The congestion control, from `tussle list algorithms`, or the Python file and class of your own. Tussle
    looks for the file beside the scenario, then in the current folder. A group, from `tussle list groups`,
    stands for the list of its algorithms. "udp" has no congestion control: datagrams leave when the
    application writes, and are not acknowledged."""
    parameters: dict[str, Axis[ParameterValue]] = Field(default={})
    """Parameters of the algorithm that differ from its defaults, by name, or arguments of your own class."""
    name: FlowName | None = None
    """The name in tables and figures. With a `count`, a number is added. Flows that are all called `first` or
    `second` are the two sides of a pair, as in `tussle matrix --flows`. Default: flow-0, flow-1 and so on."""
    count: Axis[Count] = 1
    """The number of such flows."""
    start: Axis[Time] = "0 s"
    """The time at which the flow opens its connection."""
    stop: Axis[PositiveTime] | None = None
    """The time at which the application stops writing; what the socket has taken, up to 256 kB or the send
    buffer (`hosts.wmem`), is still sent. Default: the end of the run."""
    bytes: Axis[RandomSize] | None = None
    """The amount that the application writes: a size, or a distribution that is sampled for each flow, such
    as "pareto(10 kB, 1.2)" with minimum and shape. The distributions are those of an element's delay.
    Default: unlimited."""
    arrivals: Axis[RandomTime] | None = None
    """The distribution of the time from the start of one such flow to the next, from `start` until `stop`;
    "exponential(100 ms)" is a Poisson process of 10 flows per second. Each flow writes its `bytes`, and a
    number is added to its name. Default: `count` flows that start at once."""
    application: ApplicationTable | None = None
    """The write pattern. Default: a bulk sender."""
    direction: Axis[Direction] | None = None
    """The direction of the data: the forward path ("forward"), or the reverse path ("reverse"), with
    acknowledgements on the other one. Default: "forward"."""
    enters: Axis[LinkNumber] | None = None
    """The first of the path's bottlenecks that the flow crosses, counted from 1. Default: 1."""
    leaves: Axis[LinkNumber] | None = None
    """The last of the path's bottlenecks that the flow crosses. Default: the last one of the path."""
    between_routers: Axis[Switch] | None = None
    """Whether the hosts of the flow are the routers at the ends of the bottlenecks that it crosses, so that
    its packets cross the bus (`path.bus`) of either once. Without a bus it changes nothing. Default:
    false."""
    access: Access = Access()
    """The link between the sender and the bottleneck. Default: none."""
    receiver_access: Access = Access()
    """The link between the bottleneck and the receiver. Default: none."""
    sender: Hosts | None = None
    """Settings of the sending host that differ from those of `[hosts]`. Default: none."""
    receiver: Hosts | None = None
    """Settings of the receiving host that differ from those of `[hosts]`. Default: none."""
    segment: Axis[Segment] | None = None
    """The payload of a full packet. Its headers add 52 bytes, or 40 without timestamps. Default: what fills a
    packet of 1500 bytes, which is 1448 B, or 1460 B without timestamps."""


class Steady(Table):
    """The interval that the metrics measure."""

    from_: Annotated[Time | None, Field(alias="from")] = None
    """The start. Default: after the first third of the time that all flows have in common, which is from the
    last start to the first stop or the end of the run."""
    to: PositiveTime | None = None
    """The end. Default: when the first flow stops, or the end of the run."""


class Record(Table):
    """The records of a run, in addition to the results of each flow."""

    samples: Samples = "100 ms"
    """The times of rows in the time series of flows and links: at an interval, at every "change" of a flow's
    window or state, or "off"."""
    events: Switch = False
    """Whether to record each recovery, timeout and drop, and other events."""
