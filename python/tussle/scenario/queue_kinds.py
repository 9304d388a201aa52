"""The settings of each queue discipline. The order of the fields is the order of the axes."""

from typing import Annotated, Any, Literal

from tussle.scenario.fields import (
    AverageQueue,
    Axis,
    Buffer,
    Interval,
    Probability,
    Quantum,
    Queues,
    Switch,
    Threshold,
    Wait,
    Weight,
)
from tussle.scenario.kinds import Kinds, KindTable, default, needed

LIMIT = "1 bdp"
"""The default limit of a queue whose source gives none."""


class Queue(KindTable):
    """The packets that wait for a link. Each kind of queue takes its own settings."""

    kind: Any
    """The queue discipline, from `tussle list queues`. In a list of kinds, each takes its own settings.
    Default: the profile's, or "fifo"."""
    limit: Axis[Buffer] | None = default(LIMIT)
    """The size of the buffer: in multiples of the bandwidth-delay product ("1 bdp": rate times rtt in packets
    of 1500 bytes), in packets ("100 packets"), in bytes ("300 kB"), or as a time ("40 ms": the bytes that the
    link sends in it). A limit by bandwidth-delay product or time is at least one packet."""


class Fifo(Queue):
    """First in, first out. A packet that exceeds the limit is dropped."""

    kind: Literal["fifo"]


class ThresholdQueue(Queue):
    """A FIFO queue that marks an arriving packet if more than a threshold waits (DCTCP)."""

    kind: Literal["threshold"]
    mark_above: Axis[Threshold] | None = needed("20 packets")
    """The threshold, written like `limit`."""


class Red(Queue):
    """Random Early Detection: marks or drops packets with a probability that grows with the average queue."""

    kind: Literal["red"]
    min: Axis[AverageQueue] | None = needed("0.2 bdp")
    """The average queue below which no packet is marked or dropped, written like `limit` and counted in
    packets of 1500 bytes."""
    max: Axis[AverageQueue] | None = needed("0.6 bdp")
    """The average queue from which on every packet is marked or dropped, written like `min`. Twice `min` is
    advised."""
    weight: Axis[Weight] | None = default("0.2 %")
    """The weight of the latest queue length in the average."""
    max_probability: Axis[Probability] | None = default("2 %")
    """The probability of a mark or a drop just below `max`."""
    adaptive: Axis[Switch] | None = default(value=False)
    """Whether `max_probability` adapts, so that the average stays half way between `min` and `max`."""
    ecn: Axis[Switch] | None = default(value=True)
    """Whether ECN-capable packets are marked instead of dropped."""


class CoDel(Queue):
    """Controlled Delay: marks or drops packets ever more often while they wait longer than a target."""

    kind: Literal["codel"]
    target: Axis[Wait] | None = default("5 ms")
    """The acceptable waiting time."""
    interval: Axis[Interval] | None = default("100 ms")
    """The time for which the waiting time may exceed the target: about the longest RTT."""
    ecn: Axis[Switch] | None = default(value=True)
    """Whether ECN-capable packets are marked instead of dropped."""


class FqCoDel(Queue):
    """Deficit round-robin over queues of flows, each with its own CoDel. New flows go first."""

    kind: Literal["fq_codel"]
    limit: Axis[Buffer] | None = default("10240 packets")
    """The size of the buffer of all flows together, written as for other queues."""
    target: Axis[Wait] | None = default("5 ms")
    """The acceptable waiting time."""
    interval: Axis[Interval] | None = default("100 ms")
    """The time for which the waiting time may exceed the target: about the longest RTT."""
    quantum: Axis[Quantum] | None = default("1500 B")
    """The bytes that a flow sends in its turn."""
    flows: Axis[Queues] | None = default(1024)
    """The number of queues. A hash assigns flows to queues, so that two flows may have the same one."""
    ecn: Axis[Switch] | None = default(value=True)
    """Whether ECN-capable packets are marked instead of dropped."""


class Pie(Queue):
    """PIE: marks or drops arriving packets with a probability that follows the waiting time and its trend."""

    kind: Literal["pie"]
    limit: Axis[Buffer] | None = default("1000 packets")
    """The size of the buffer, written as for other queues."""
    target: Axis[Wait] | None = default("15 ms")
    """The waiting time that the queue aims for."""
    update: Axis[Interval] | None = default("15 ms")
    """The time between two updates of the probability."""
    ecn: Axis[Switch] | None = default(value=True)
    """Whether ECN-capable packets are marked instead of dropped, while the probability is at most 10 %."""


class FqPie(Queue):
    """Deficit round-robin over queues of flows, each with its own PIE."""

    kind: Literal["fq_pie"]
    limit: Axis[Buffer] | None = default("10240 packets")
    """The size of the buffer of all flows together, written as for other queues."""
    target: Axis[Wait] | None = default("15 ms")
    """The waiting time that each queue aims for."""
    update: Axis[Interval] | None = default("15 ms")
    """The time between two updates of the probabilities."""
    quantum: Axis[Quantum] | None = default("1500 B")
    """The bytes that a flow sends in its turn."""
    flows: Axis[Queues] | None = default(1024)
    """The number of queues. A hash assigns flows to queues, so that two flows may have the same one."""
    ecn: Axis[Switch] | None = default(value=True)
    """Whether ECN-capable packets are marked instead of dropped, while the probability is at most 10 %."""


class Cake(Queue):
    """Deficit round-robin over queues of flows, each with its own COBALT. A hash collision is rare."""

    kind: Literal["cake"]
    limit: Axis[Buffer] | None = None
    """The size of the buffer of all flows together, written as for other queues. Default: the bytes that the
    link sends in four intervals, at least 4 MB and at most 15 MB."""
    target: Axis[Wait] | None = default("5 ms")
    """The acceptable waiting time, at least the time of one and a half packets."""
    interval: Axis[Interval] | None = default("100 ms")
    """The time for which the waiting time may exceed the target: about the longest RTT."""


class DualPi2(Queue):
    """A low-latency queue for scalable congestion control (L4S), coupled with a queue for all others."""

    kind: Literal["dualpi2"]
    limit: Axis[Buffer] | None = default("10000 packets")
    """The size of the buffer of both queues together, written as for other queues."""
    target: Axis[Wait] | None = default("15 ms")
    """The waiting time that the classic queue aims for."""
    step: Axis[Wait] | None = default("1 ms")
    """The waiting time in the low-latency queue above which a packet is marked."""
    update: Axis[Interval] | None = default("16 ms")
    """The time between two updates of the probability."""


class Sfq(Queue):
    """Deficit round-robin over queues of flows. At the limit, the longest queue loses its newest packet."""

    kind: Literal["sfq"]
    limit: Axis[Buffer] | None = default("127 packets")
    """The size of the buffer of all flows together, written as for other queues."""
    quantum: Axis[Quantum] | None = default("1500 B")
    """The bytes that a flow sends in its turn."""
    flows: Axis[Queues] | None = default(1024)
    """The number of queues. A hash assigns flows to queues, so that two flows may have the same one."""


QUEUES = Kinds(Queue, "a queue", is_kind_needed=False)
AnyQueue = QUEUES.mixed
QueueTable = Annotated[Queue, QUEUES]
