"""The tables of a scenario file: path, queues, flows, and what is measured and recorded.

The reference page of the scenario format is generated from these classes and their docstrings. The order of
the fields is the order of the axes.
"""

from typing import Annotated

from pydantic import BaseModel, ConfigDict, Field

from tussle.scenario.fields import (
    Algorithms,
    ApplicationKind,
    Attempts,
    Axis,
    Buffer,
    Count,
    Delay,
    Direction,
    Drawn,
    DrawnSize,
    ElementKind,
    Fading,
    FlowName,
    Fraction,
    Interval,
    LinkNumber,
    Order,
    PacketList,
    Packets,
    ParameterValue,
    Period,
    Place,
    PositiveTime,
    Probability,
    ProfileName,
    Quantum,
    QueueKind,
    Queues,
    Rate,
    RoundTrip,
    Samples,
    Segment,
    Signal,
    Size,
    Stations,
    Switch,
    Threshold,
    Time,
    TraceFile,
    Wait,
    Weight,
    WhileDown,
)


class Table(BaseModel):
    """A table of the scenario file: unknown keys are refused, values never change."""

    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Queue(Table):
    """What waits in front of a link. Each kind takes `limit` and the settings that name it."""

    kind: Axis[QueueKind] | None = None
    """The queue discipline, from `tussle list queues`. Of a list, each kind takes the settings that are for
    it. Default: "fifo"."""
    limit: Axis[Buffer] | None = None
    """How much may wait: multiples of the bandwidth-delay product ("1 bdp": rate times rtt in packets of 1500
    bytes), "100 packets", "300 kB", or as much as leaves in a time ("40 ms": the bytes that `rate` sends in
    it). The first and the last are at least one packet. Default: "1 bdp", but for fq_codel and fq_pie
    "10240 packets", for pie "1000 packets", for dualpi2 "10000 packets", for sfq "127 packets", for cake
    what leaves in four intervals, if that is 4 to 15 MB."""
    mark_above: Axis[Threshold] | None = None
    """threshold: a packet that finds more waiting is marked; written like `limit`. Needed."""
    min: Axis[Threshold] | None = None
    """red: with a shorter average queue nothing happens; written like `limit`, and counted in packets of 1500
    bytes. Needed."""
    max: Axis[Threshold] | None = None
    """red: with at least this average queue every packet is marked or dropped; written like `min`, twice as
    much is advised. Needed."""
    weight: Axis[Weight] | None = None
    """red: weight of the latest queue length in the average. Default: "0.2 %"."""
    max_probability: Axis[Probability] | None = None
    """red: probability of a mark or a drop just below `max`. Default: "2 %"."""
    adaptive: Axis[Switch] | None = None
    """red: whether `max_probability` is only where it begins, and then holds the average half way between
    `min` and `max`. Default: false."""
    target: Axis[Wait] | None = None
    """codel, fq_codel, cake: waiting time that is no harm, by default "5 ms"; pie, fq_pie, dualpi2: the wait
    to be held, by default "15 ms"."""
    interval: Axis[Interval] | None = None
    """codel, fq_codel, cake: for how long it may be exceeded, about the longest RTT. Default: "100 ms"."""
    step: Axis[Wait] | None = None
    """dualpi2: a packet that can be marked is marked after a longer wait. Default: "1 ms"."""
    update: Axis[Interval] | None = None
    """pie, fq_pie, dualpi2: between two updates of the probability. Default: "15 ms", for dualpi2 "16 ms"."""
    quantum: Axis[Quantum] | None = None
    """fq_codel, fq_pie, sfq: how much a flow sends in its turn. Default: "1500 B"."""
    flows: Axis[Queues] | None = None
    """fq_codel, fq_pie, sfq: queues over which flows are spread by a hash, so that two may meet in one.
    Default: 1024."""
    ecn: Axis[Switch] | None = None
    """red, codel, fq_codel, pie, fq_pie: whether packets that can be marked are marked instead of dropped.
    Default: true."""


class Element(Table):
    """What a path does to packets beside the bottleneck. Each kind takes the settings that name it."""

    kind: Axis[ElementKind]
    """What it does, from `tussle list elements`. Of a list, each kind takes the settings that are for it."""
    place: Axis[Place] = "after"
    """Whether packets meet it before or after the bottleneck of their direction, and there in the order
    written."""
    delay: Axis[Drawn] | None = None
    """jitter: how the delay of each packet is drawn; handover: of all packets until the next one. "5 ms" is
    always the same; "uniform(1 ms, 5 ms)", "normal(20 ms, 5 ms)" by mean and standard deviation,
    "exponential(10 ms)" by mean, "pareto(5 ms, 2.5)" by the least and the shape, "quantiles(0 ms, 1 ms,
    9 ms)" by times of evenly spaced quantiles from the least to the most. Needed."""
    order: Axis[Order] | None = None
    """jitter: whether packets wait for those before them ("kept") or may overtake ("free"). Default:
    "kept"."""
    begin: Axis[Time] | None = None
    """ramp: when the delay begins to change. Needed."""
    end: Axis[Time] | None = None
    """ramp: when it has changed. Needed."""
    from_: Annotated[Axis[Delay] | None, Field(alias="from")] = None
    """ramp: one-way delay before. Needed."""
    to: Axis[Delay] | None = None
    """ramp: one-way delay after. Needed."""
    every: Axis[PositiveTime] | None = None
    """handover: time from one to the next. Needed."""
    pause: Axis[Delay] | None = None
    """handover: how long packets wait after each. Default: not at all."""
    up: Axis[Drawn] | None = None
    """outage: how the length of each up time is drawn, written like `delay`. Needed."""
    down: Axis[Drawn] | None = None
    """outage: how the length of each down time is drawn, written like `delay`. Needed."""
    while_down: Axis[WhileDown] | None = None
    """outage: whether packets of a down time wait for its end ("hold") or are lost ("drop"). Default:
    "hold"."""
    hold: Axis[Delay] | None = None
    """aggregate: how long the first packet of a burst waits for others. Needed."""
    most_packets: Axis[Packets] | None = None
    """aggregate: how many leave at once without waiting for more. Default: any number waits."""
    rate: Axis[Rate] | None = None
    """policer: rate at which its bucket fills. Needed."""
    burst: Axis[Size] | None = None
    """policer: how much its bucket holds. Needed."""
    p: Axis[Probability] | None = None
    """gilbert_elliott: probability that a good channel turns bad, for each packet. Needed."""
    r: Axis[Probability] | None = None
    """gilbert_elliott: probability that a bad channel turns good, for each packet; a bad time lasts 1 / r of
    them. Needed."""
    loss_good: Axis[Probability] | None = None
    """gilbert_elliott: fraction lost while the channel is good. Default: 0."""
    loss_bad: Axis[Probability] | None = None
    """gilbert_elliott: fraction lost while it is bad. Default: "100 %"."""
    every_packets: Axis[Period] | None = None
    """periodic: each packet of that number is lost. Needed."""
    packets: Axis[PacketList] | None = None
    """list: which packets are lost, counted from 0 in the order in which they come, SYN and ACKs included.
    Needed."""
    probability: Axis[Probability] | None = None
    """corrupt, duplicate: fraction of packets that are damaged, so that the receiver drops them, or doubled.
    Needed."""


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
    elements: tuple[Element, ...] | None = None
    """What else happens to packets on the way back. Default: the profile's."""
    queue: Queue = Queue()
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
    queue: Queue = Queue()
    """The queue at the bottleneck."""
    elements: tuple[Element, ...] | None = None
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


class Application(Table):
    """How an application writes that does not write all that is taken. It begins when its flow starts.

    It writes whole segments: a chunk or a response is rounded up to them.
    """

    kind: Axis[ApplicationKind]
    """What it does. "rate": a segment at a time, at a constant rate. "on_off": at a constant rate for a while
    and not at all for a while, in turns, beginning with on. "chunks": much at once, every so often, as
    players of recorded video fetch it. "requests": a response to each request, which comes some time after
    the last byte of the response before was acknowledged. Of a list, each kind takes the settings that are
    for it."""
    rate: Axis[Rate] | None = None
    """rate: payload a second; on_off: the same, while it is on. Needed."""
    on: Axis[Drawn] | None = None
    """on_off: how the length of each on time is drawn, written like the delay of an element. Needed."""
    off: Axis[Drawn] | None = None
    """on_off: how the length of each off time is drawn. Needed."""
    size: Axis[Size] | None = None
    """chunks, requests: how much is written at once. Needed."""
    every: Axis[Drawn] | None = None
    """chunks: how the time from one to the next is drawn; "exponential(10 ms)" makes a Poisson process.
    Needed."""
    think: Axis[Drawn] | None = None
    """requests: how the time is drawn from the last acknowledgement of a response to the next response.
    Needed."""


class Flow(Table):
    """A sender and its receiver, or `count` of them."""

    algorithm: Algorithms
    """Its congestion control, from `tussle list algorithms`; or the Python file and class of one of yours,
    the file looked for beside the scenario, then in the current folder. A group, from `tussle list groups`,
    stands for the list of its algorithms. "udp": none; what its application writes leaves at once in
    datagrams, which nobody acknowledges."""
    parameters: dict[str, Axis[ParameterValue]] = {}
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
    bytes: Axis[DrawnSize] | None = None
    """How much its application writes; "pareto(10 kB, 1.2)", by the least and the shape, draws it for each
    flow, as do the other distributions of a delay of an element. Default: as much as is taken."""
    arrivals: Axis[Drawn] | None = None
    """How the time from the start of one such flow to that of the next is drawn, from `start` on and until
    `stop`; "exponential(100 ms)" makes a Poisson process of 10 a second. Each writes its `bytes`; a number is
    added to its name. Default: `count` flows that start at once."""
    application: Application | None = None
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
