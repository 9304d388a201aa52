"""Bottlenecks in a row, and flows that enter and leave between them: a parking lot."""

from collections.abc import Iterator, Sequence
from typing import NamedTuple, cast

from tussle import units
from tussle.scenario.buffers import Link
from tussle.scenario.network import Element, halves, links_of
from tussle.scenario.problems import Problem
from tussle.scenario.queue_kinds import Queue
from tussle.scenario.queues import queue_problems
from tussle.scenario.tables import Flow, FurtherLink, Path

Ways = tuple[list[Element], list[Element]]
"""The elements of a link, in the order that packets cross them: forward and reverse."""


class _Sized(NamedTuple):
    """The link and the queue, in one direction, that decide the size of a further link's buffer."""

    link: Link
    queue: Queue


def further_elements(path: Path) -> list[Ways]:
    """Return the elements of the bottlenecks after the first; `path` is a completed path."""
    return [_elements(path, index) for index in range(len(path.links or ()))]


def _elements(path: Path, index: int) -> Ways:
    further = (path.links or ())[index]
    forward, reverse = _sized(path, further)
    base = halves(further.rtt or path.rtt)
    name = f"bottleneck-{index + 2}"
    return (
        [{"name": name} | _link(forward) | {"delay_ns": base.forward_ns}],
        [{"name": f"{name}-reverse"} | _link(reverse) | {"delay_ns": base.reverse_ns}],
    )


def _sized(path: Path, further: FurtherLink) -> tuple[_Sized, _Sized]:
    first_forward, first_reverse = links_of(path)
    rtt = further.rtt or path.rtt
    return (
        _Sized(Link(further.rate or first_forward.rate, rtt), path.queue),
        _Sized(Link(further.rate or first_reverse.rate, rtt), path.reverse.queue),
    )


def _link(sized: _Sized) -> Element:
    rate_bit_per_s = units.rate(sized.link.rate)
    queue = sized.queue.in_run(sized.link)
    return {"kind": "link", "rate_bit_per_s": rate_bit_per_s, "queue": queue}


def ways(links: Sequence[Ways], buses: Sequence[Element], flow: Flow) -> Ways:
    """Return the elements that a flow's data and its ACKs cross.

    `links` are those of the path in order, and `buses` those of its routers, one more than links, or none.
    """
    first, last = _span(flow, len(links))
    crossed, routers = links[first - 1 : last], buses[first - 1 : last + 1]
    forward = _joined([way for way, _ in crossed], routers, flow)
    reverse = _joined([way for _, way in reversed(crossed)], routers[::-1], flow)
    return (reverse, forward) if flow.direction == "reverse" else (forward, reverse)


def _joined(links: Sequence[list[Element]], buses: Sequence[Element], flow: Flow) -> list[Element]:
    """Return the elements of links with the buses before, between and behind them.

    A packet crosses the bus of a router twice, and that of a router that is its host once.
    """
    found: list[Element] = []
    for index, link in enumerate([*links, []]):
        is_end = index in (0, len(links))
        found += [*buses[index : index + 1]] * (_times(flow) if is_end else 2)
        found += link
    return found


def _times(flow: Flow) -> int:
    """Return how often a packet of the flow crosses the bus of the first and the last router."""
    return 1 if flow.between_routers else 2


def _span(flow: Flow, count: int) -> tuple[int, int]:
    """Return the numbers of the first and the last link that a flow crosses; `count` is that of all links."""
    return cast("int | None", flow.enters) or 1, cast("int | None", flow.leaves) or count


def chain_problems(path: Path, packet_bytes: int) -> Iterator[Problem]:
    """Check the further links of a completed path; `packet_bytes` is its largest packet."""
    for index, further in enumerate(path.links or ()):
        for sized in dict.fromkeys(_sized(path, further)):
            for problem in queue_problems(sized.queue, sized.link, packet_bytes):
                yield Problem(f"path.links.{index}", f"queue.{problem.where}: {problem.what}")


def span_problems(flow: Flow, path: Path, where: str) -> Iterator[Problem]:
    """Check the links at which a flow enters and leaves; `path` is its completed path, `where` its key."""
    count = 1 + len(path.links or ())
    first, last = _span(flow, count)
    for name, number in (("enters", first), ("leaves", last)):
        if number > count:
            has = "1 bottleneck; add [[path.links]]" if count == 1 else f"{count} bottlenecks"
            yield Problem(f"{where}.{name}", f"{number}; the path has {has}")
            return
    if last < first:
        what = f"{last} is before enters, {first}; flows cross the bottlenecks in order"
        yield Problem(f"{where}.leaves", what)
