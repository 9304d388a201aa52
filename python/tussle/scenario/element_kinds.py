"""The settings of each element of a path. The order of the fields is the order of the axes."""

from typing import Annotated, Any, ClassVar, Literal

from tussle.scenario.fields import (
    Axis,
    Delay,
    Order,
    PacketList,
    Packets,
    Period,
    Place,
    PositiveTime,
    Probability,
    RandomTime,
    Rate,
    RttSeriesFile,
    Size,
    Time,
    WhileDown,
)
from tussle.scenario.kinds import Kinds, KindTable, NameInRun, default, needed


class Element(KindTable):
    """A part of a path beside the bottleneck. Each kind of element takes its own settings."""

    common: ClassVar[frozenset[str]] = frozenset({"kind", "place"})
    kind: Any
    """The kind, from `tussle list elements`. In a list of kinds, each takes its own settings."""
    place: Axis[Place] = "after"
    """Whether packets cross the element before or after the bottleneck of their direction. Elements on one
    side are crossed in the order written."""


class Jitter(Element):
    """A random delay of each packet."""

    kind: Literal["jitter"]
    delay: Axis[RandomTime] | None = needed("normal(5 ms, 2 ms)")
    """The distribution of the delay: a constant ("5 ms"), "uniform(1 ms, 5 ms)", "normal(20 ms, 5 ms)" with
    mean and standard deviation, "exponential(10 ms)" with the mean, "pareto(5 ms, 2.5)" with minimum and
    shape, "quantiles(0 ms, 1 ms, 9 ms)" with evenly spaced quantiles from the minimum to the maximum, or
    "wifi(7 ms)" with the mean, 1 to 91 ms: a model of Wi-Fi with collisions, in which most packets take up to
    a few ms and some a tenth of a second (draft-huitema-ccwg-c4-test)."""
    order: Axis[Order] | None = default("kept")
    """Whether packets wait for those before them ("kept") or may overtake ("free")."""


class Ramp(Element):
    """A delay that changes linearly from one value to another."""

    kind: Literal["ramp"]
    begin: Axis[Time] | None = needed("10 s")
    """The time at which the delay begins to change."""
    end: Axis[Time] | None = needed("20 s")
    """The time at which the delay reaches its last value."""
    from_: Annotated[Axis[Delay] | None, NameInRun("from_delay")] = needed("0 ms", alias="from")
    """The one-way delay before the change."""
    to: Annotated[Axis[Delay] | None, NameInRun("to_delay")] = needed("50 ms")
    """The one-way delay after the change."""


class RttSeries(Element):
    """A recording of RTTs: the amount by which each exceeds the smallest of them is a delay."""

    kind: Literal["rtt_series"]
    series: Annotated[Axis[RttSeriesFile] | None, NameInRun("steps")] = needed("rtt.csv")
    """The file: a CSV with rows of a time in seconds and the RTT from then on in ms. After its last row it
    starts again. `path.rtt` stands for the smallest RTT of the recording."""


class Handover(Element):
    """A new delay at regular times, such as from satellite to satellite."""

    kind: Literal["handover"]
    delay: Axis[RandomTime] | None = needed("uniform(0 ms, 20 ms)")
    """The distribution of the delay between two handovers, written as for jitter."""
    every: Axis[PositiveTime] | None = needed("15 s")
    """The time between two handovers."""
    pause: Axis[Delay] | None = default("0 s")
    """The time after each handover in which packets wait."""


class Outage(Element):
    """A path that is alternately up and down."""

    kind: Literal["outage"]
    up: Axis[RandomTime] | None = needed("exponential(10 s)")
    """The distribution of the length of each up time, written like a delay."""
    down: Axis[RandomTime] | None = needed("500 ms")
    """The distribution of the length of each down time, written like a delay."""
    while_down: Axis[WhileDown] | None = default("hold")
    """Whether packets of a down time wait for its end ("hold") or are lost ("drop")."""


class Aggregate(Element):
    """A hold of packets that then leave in a burst."""

    kind: Literal["aggregate"]
    hold: Axis[Delay] | None = needed("4 ms")
    """The time that the first packet of a burst waits for others."""
    most_packets: Axis[Packets] | None = None
    """The number of packets that ends the wait. Default: no number."""


class Policer(Element):
    """A token bucket that drops packets which exceed its rate and burst."""

    kind: Literal["policer"]
    rate: Axis[Rate] | None = needed("10 Mbit/s")
    """The rate at which the bucket fills."""
    burst: Axis[Size] | None = needed("100 kB")
    """The size of the bucket."""


class GilbertElliott(Element):
    """Losses in bursts: a channel that is alternately good and bad."""

    kind: Literal["gilbert_elliott"]
    p: Axis[Probability] | None = needed("1 %")
    """The probability for each packet that a good channel turns bad."""
    r: Axis[Probability] | None = needed("30 %")
    """The probability for each packet that a bad channel turns good; the mean bad time is 1 / r packets."""
    loss_good: Axis[Probability] | None = default("0 %")
    """The loss rate while the channel is good."""
    loss_bad: Axis[Probability] | None = default("100 %")
    """The loss rate while the channel is bad."""


class LossPeriodic(Element):
    """The loss of every n-th packet."""

    kind: Literal["loss_periodic"]
    every_packets: Axis[Period] | None = needed(100)
    """The number n of packets of which the last one is lost."""


class LossList(Element):
    """The loss of listed packets."""

    kind: Literal["loss_list"]
    packets: Axis[PacketList] | None = needed("20, 40-45")
    """The packets that are lost, counted from 0 in the order of arrival, with SYNs and ACKs."""


class Corrupt(Element):
    """Random damage: a damaged packet takes its time on the path, and the receiver drops it."""

    kind: Literal["corrupt"]
    probability: Axis[Probability] | None = needed("0.1 %")
    """The fraction of packets that are damaged."""


class Duplicate(Element):
    """Random duplication of packets, independent for each."""

    kind: Literal["duplicate"]
    probability: Axis[Probability] | None = needed("0.1 %")
    """The fraction of packets that are duplicated."""


class Mark(Element):
    """Random marks (ECN), independent for each packet."""

    kind: Literal["mark"]
    probability: Axis[Probability] | None = needed("1 %")
    """The fraction of packets with ECN that are marked."""


class Unmark(Element):
    """Removal of marks (ECN), as by a tunnel that drops them, or by a receiver that does not report them."""

    kind: Literal["unmark"]
    probability: Axis[Probability] | None = needed("100 %")
    """The fraction of marked packets that lose their mark."""


ELEMENTS = Kinds(Element, "an element")
AnyElement = ELEMENTS.mixed
ElementTable = Annotated[Element, ELEMENTS]
