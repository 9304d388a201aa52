"""The tables of a scenario file: path, queues, flows, and what is measured and recorded.

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
from tussle.scenario.queue_kinds import QUEUES, QueueTable
from tussle.scenario.table import Table


class Radio(Table):
    """Errors of a radio link at the bottleneck, which sends damaged blocks again and delivers in order."""

    block_error: Axis[Fraction] = "0 %"
    """Probability that a transmission of a block is damaged."""
    block: Axis[Size] | None = None
    """Size of a block. Default: each packet is one."""
    attempts: Axis[Attempts] = 1
    """How often a block is transmitted at most; then its packet is lost. Each takes time of the rate."""
    retry_delay: Axis[Delay] = "0 s"
    """From a damaged transmission until the next of that block; packets behind it wait for it."""
    overhead: Axis[Delay] = "0 s"
    """What each transmission takes beyond its bits."""


class Wifi(Table):
    """Stations that share the medium of 802.11g, and the signal. The path's rate is the highest one."""

    stations: Axis[Stations] = 0
    """Other stations, each of which always has a full packet to send at 54 Mbit/s."""
    signal_dbm: Axis[Signal] = -50
    """Mean received signal. The highest rate that it is strong enough for is used: 54 Mbit/s from -65 dBm on,
    18 from -77, 6 from -82."""
    fading_db: Axis[Fading] = 0
    """Standard deviation of the signal, which is drawn anew each 100 ms; the rate follows it as late."""


class Reverse(Table):
    """The way back, for the acknowledgements. Without it: as there, but with no errors or elements."""

    rate: Axis[Rate] | None = None
    """Rate of the bottleneck on the way back. Default: as on the way there."""
    trace: Axis[TraceFile] | None = None
    """A recording of the bottleneck on the way back, instead of a rate. Default: as on the way there."""
    loss: Axis[Fraction] | None = None
    """Fraction of packets lost at random on the way back. Default: 0."""
    radio: Radio | None = None
    """Radio errors on the way back. Default: none."""
    wifi: Wifi | None = None
    """The medium, if the way back is WiFi. Default: it is not."""
    elements: tuple[ElementTable, ...] | None = None
    """What else happens to packets on the way back. Default: the profile's."""
    queue: QueueTable = QUEUES.empty()
    """The queue on the way back. Default: as on the way there; a limit in bdp or time is taken at
    this rate."""


class Change(Table):
    """A change of the bottleneck while the run goes on.

    A packet under transmission finishes at the old rate, and a shorter delay lets no packet overtake. Limits
    in bdp or time stay those of the first rate.
    """

    at: Axis[PositiveTime]
    """When; each later than the one before."""
    rate: Axis[Rate] | None = None
    """The new rate. Default: as before."""
    rtt: Axis[RoundTrip] | None = None
    """The new round-trip time, half of it each way. Default: as before."""
    reverse_rate: Axis[Rate] | None = None
    """The new rate on the way back. Default: as `rate` here, if the path has no `reverse.rate`; else as
    before."""


class FurtherLink(Table):
    """A further bottleneck, with the path's queues but none of its errors and elements."""

    rate: Axis[Rate] | None = None
    """Its rate, both ways. Default: the path's, each way its own; of a recording, its mean."""
    rtt: Axis[RoundTrip] | None = None
    """What it adds to the round-trip time, half of it each way. Default: as much as the path's first
    bottleneck. Limits of its queues in bdp are taken at its own rate and round-trip time."""


class Path(Table):
    """The bottleneck that the flows share. A key given here wins over the profile's."""

    profile: Axis[ProfileName] | None = None
    """Fills in the keys that are not given, from `tussle list profiles`. Default: none."""
    rate: Axis[Rate] | None = None
    """Rate of the bottleneck, over IP packet sizes. Needed, unless a profile or a trace gives it."""
    trace: Axis[TraceFile] | None = None
    """A recording of the bottleneck in mahimahi's format instead of a rate: a file with one line for each
    opportunity to send 1500 bytes, in ms, which begins again after the last; the file looked for beside the
    scenario, then in the current folder. Limits in bdp or time are taken at its mean rate. Default: none."""
    rtt: Axis[RoundTrip] | None = None
    """Round-trip time of the bottleneck with an empty queue, half of it each way. Needed, unless a profile
    gives it."""
    loss: Axis[Fraction] | None = None
    """Fraction of packets lost at random before the bottleneck, each independently. Default: 0."""
    radio: Radio | None = None
    """Radio errors at the bottleneck. Default: the profile's, or none."""
    wifi: Wifi | None = None
    """The medium, if the bottleneck is WiFi. Default: the profile's, or it is not."""
    queue: QueueTable = QUEUES.empty()
    """The queue at the bottleneck."""
    elements: tuple[ElementTable, ...] | None = None
    """What else happens to packets on the way there. Default: the profile's."""
    reverse: Reverse = Reverse()
    """The way back."""
    links: tuple[FurtherLink, ...] | None = None
    """Further bottlenecks in a row behind the first, from which flows may enter and leave on the way: a
    parking lot. They are called bottleneck-2, bottleneck-3 …; metrics of the bottleneck are about the first.
    Default: none."""
    changes: tuple[Change, ...] | None = None
    """How rate and round-trip time change while the run goes on. Default: the profile's."""


class Access(Table):
    """A flow's own link, the same in both directions; its queue never fills."""

    rate: Axis[Rate] | None = None
    """Its rate. Default: unlimited."""
    delay: Axis[Delay] | None = None
    """Its one-way delay, added to the path's. Default: none."""


class Flow(Table):
    """A sender and its receiver, or `count` of them."""

    algorithm: Algorithms
    """Its congestion control, from `tussle list algorithms`; or the Python file and class of one of yours,
    the file looked for beside the scenario, then in the current folder. A group, from `tussle list groups`,
    stands for the list of its algorithms. "udp": none; what its application writes leaves at once in
    datagrams, which nobody acknowledges."""
    parameters: dict[str, Axis[ParameterValue]] = Field(default={})
    """Settings of the algorithm that differ from its defaults, by name; arguments of a class of yours."""
    name: FlowName | None = None
    """What tables and figures call it. Default: flow-0, flow-1 … in order; with a `count`, a number is
    added."""
    count: Axis[Count] = 1
    """How many such flows."""
    start: Axis[Time] = "0 s"
    """When it opens its connection."""
    stop: Axis[PositiveTime] | None = None
    """When its application stops writing. Default: at the end of the run."""
    bytes: Axis[RandomSize] | None = None
    """How much its application writes; "pareto(10 kB, 1.2)", by the least and the shape, draws it for each
    flow, as do the other distributions of a delay of an element. Default: as much as is taken."""
    arrivals: Axis[RandomTime] | None = None
    """How the time from the start of one such flow to that of the next is drawn, from `start` on and until
    `stop`; "exponential(100 ms)" makes a Poisson process of 10 a second. Each writes its `bytes`; a number is
    added to its name. Default: `count` flows that start at once."""
    application: ApplicationTable | None = None
    """How its application writes. Default: as fast as is taken."""
    direction: Axis[Direction] | None = None
    """Which way its data go: there ("forward"), or the way back ("reverse"), so that its acknowledgements go
    there. Default: "forward"."""
    enters: Axis[LinkNumber] | None = None
    """The first of the path's bottlenecks that it crosses, counted from 1. Default: 1."""
    leaves: Axis[LinkNumber] | None = None
    """The last of them that it crosses. Default: the last that there is."""
    access: Access = Access()
    """The link between the sender and the bottleneck. Default: none."""
    receiver_access: Access = Access()
    """The link between the bottleneck and the receiver. Default: none."""
    ecn: Axis[Switch] = False
    """Whether both ends negotiate ECN (RFC 3168)."""
    pacing: Axis[Switch] = False
    """Whether the sender spaces its packets, as Linux does with the fq queue."""
    receive_window: Axis[Size] | None = None
    """The window that the receiver offers, once it has grown to that from 64 kB, by two segments a packet.
    Default: twice what the path holds, at least 3 MiB, so that it never limits a flow that is under way."""
    segment: Axis[Segment] = "1448 B"
    """Payload of a full packet; its headers add 52 bytes."""


class Steady(Table):
    """The interval that the metrics measure."""

    from_: Annotated[Time | None, Field(alias="from")] = None
    """When it begins. Default: a third into the time that the flows share: from the last start to the first
    stop, or to the end."""
    to: PositiveTime | None = None
    """When it ends. Default: when the first flow stops, or at the end of the run."""


class Record(Table):
    """What is written down beside the results of each flow."""

    samples: Samples = "100 ms"
    """When the time series of flows and links get a row: at an interval, at every "change" of a flow's window
    or state, or "off"."""
    events: Switch = False
    """Whether each loss, recovery, timeout and drop is written down."""
