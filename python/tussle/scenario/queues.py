"""Queues: the settings that each kind takes, what can be wrong with them, and what they are in a run."""

from collections.abc import Callable, Iterator, Mapping
from fractions import Fraction
from typing import Any, Literal, NamedTuple

from tussle import units
from tussle.profiles import profiles
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Path, Queue

DEFAULTS = {"kind": "fifo"}
_LIMIT = "1 bdp"
"""The default, but for kinds whose source gives one of its own."""
_OWN_LIMIT = {"fq_codel", "pie", "fq_pie", "cake", "dualpi2", "sfq"}
SETTINGS: dict[str, tuple[str, ...]] = {
    "fifo": ("limit",),
    "threshold": ("limit", "mark_above"),
    "red": ("limit", "min", "max", "weight", "max_probability", "adaptive", "ecn"),
    "codel": ("limit", "target", "interval", "ecn"),
    "fq_codel": ("limit", "target", "interval", "quantum", "flows", "ecn"),
    "pie": ("limit", "target", "update", "ecn"),
    "fq_pie": ("limit", "target", "update", "quantum", "flows", "ecn"),
    "cake": ("limit", "target", "interval"),
    "dualpi2": ("limit", "target", "step", "update"),
    "sfq": ("limit", "quantum", "flows"),
}
"""What each kind takes."""
_NEEDED = {
    "threshold": {"mark_above": "20 packets"},
    "red": {"min": "0.2 bdp", "max": "0.6 bdp"},
}
"""What a kind cannot do without, and an example of it."""
_IN_SI: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "weight": ("weight", lambda written: float(units.fraction(written))),
    "max_probability": ("max_probability", lambda written: float(units.fraction(written))),
    "target": ("target_ns", units.time),
    "interval": ("interval_ns", units.time),
    "step": ("step_ns", units.time),
    "update": ("update_ns", units.time),
    "quantum": ("quantum_bytes", units.size),
}
"""What a setting is called in a run, and how it is read; those that are not here are as written."""
_PACKET_BYTES = 1500
_MOST_PACKETS = 4_000_000_000
"""Tables count packets in 32 bits."""
_NS_PER_S = 10**9


class Link(NamedTuple):
    """What a buffer's size may follow from, as written."""

    rate: object
    rtt: object

    def bytes_in(self, time_ns: Fraction | int) -> Fraction:
        """Return how much leaves in a time."""
        return time_ns * Fraction(units.rate(self.rate), 8 * _NS_PER_S)


class _Amount(NamedTuple):
    """How much waits, in the unit that the simulator counts it in; not rounded."""

    amount: Fraction
    unit: Literal["packets", "bytes"]
    one_packet: int = 0
    """The least that a limit may be, if it follows from the path."""

    def packets(self) -> float:
        return float(self.amount if self.unit == "packets" else self.amount / _PACKET_BYTES)


def misplaced_settings(path: Path) -> Iterator[Problem]:
    """Find settings that no kind of their queue takes; lists of values may stand in the path."""
    there = _kinds(path)
    back = _listed(path.reverse.queue.kind) or there
    for where, queue, kinds in (
        ("path.queue", path.queue, there),
        ("path.reverse.queue", path.reverse.queue, back),
    ):
        taken = list(dict.fromkeys(setting for kind in kinds for setting in SETTINGS[kind]))
        for setting in queue.model_dump(exclude_none=True, exclude={"kind"}):
            if setting not in taken:
                takers = [kind for kind, settings in SETTINGS.items() if setting in settings]
                yield Problem(
                    f"{where}.{setting}",
                    f"a setting of {_and(takers)}; {_and(kinds)} "
                    f"{'takes' if len(kinds) == 1 else 'take'} {', '.join(taken)}",
                )


def _kinds(path: Path) -> list[str]:
    """Return the kinds of the queue on the way there: as written, by the profiles, or the default."""
    of_profiles = [profiles()[name].path.get("queue", {}).get("kind") for name in _listed(path.profile)]
    found = _listed(path.queue.kind) or of_profiles or [None]
    return list(dict.fromkeys(kind or DEFAULTS["kind"] for kind in found))


def _listed(value: str | tuple[str, ...] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def _and(names: list[str]) -> str:
    *others, last = names
    return f"{', '.join(others)} and {last}" if others else last


def with_default_limit(queue: Mapping[str, Any]) -> dict[str, Any]:
    """Give a queue the default limit if it has none, unless the simulator has one for its kind."""
    return {**queue} if queue["kind"] in _OWN_LIMIT else {"limit": _LIMIT, **queue}


def queue_problems(queue: Queue, link: Link, packet_bytes: int) -> Iterator[Problem]:
    """Find what is wrong with a completed queue; `packet_bytes` is the largest packet that comes."""
    limit = queue_of_run(Queue(kind="fifo", limit=queue.limit), link)
    if limit.get("limit_packets", 0) > _MOST_PACKETS:
        yield Problem(
            "limit", f"{queue.limit} is {limit['limit_packets']} packets; give at most {_MOST_PACKETS}"
        )
    if limit.get("limit_bytes", packet_bytes) < packet_bytes:
        yield Problem("limit", f"{queue.limit} does not hold one packet; give at least {packet_bytes} B")
    missing = {
        key: example
        for key, example in _NEEDED.get(str(queue.kind), {}).items()
        if getattr(queue, key) is None
    }
    for key, example in missing.items():
        yield Problem(key, f'missing; a {queue.kind} queue needs it, like "{example}"')
    if queue.kind == "red" and not missing:
        least, most = _amount(queue.min, link), _amount(queue.max, link)
        if most.packets() <= least.packets():
            yield Problem("max", f"{queue.max} is not more than min, {queue.min}; twice as much is advised")


def queue_of_run(queue: Queue, link: Link) -> dict[str, Any]:
    """Return a completed queue as a run has it: the settings that its kind takes, in SI.

    Those that are not written are the simulator's defaults.
    """
    kind = str(queue.kind)
    found: dict[str, Any] = {"kind": kind}
    for setting in SETTINGS[kind]:
        written = getattr(queue, setting)
        if written is not None:
            found |= _of_run(setting, written, link)
    return found


def _of_run(setting: str, written: Any, link: Link) -> dict[str, Any]:
    match setting:
        case "limit":
            amount, unit, one_packet = _amount(written, link)
            return {f"limit_{unit}": max(one_packet, _nearest(amount))}
        case "mark_above":
            amount, unit, _ = _amount(written, link)
            return {f"mark_above_{unit}": _nearest(amount)}
        case "min" | "max":
            return {f"{setting}_packets": _amount(written, link).packets()}
        case _:
            name, in_si = _IN_SI.get(setting, (setting, _as_written))
            return {name: in_si(written)}


def _as_written(written: Any) -> Any:
    return written


def _amount(written: object, link: Link) -> _Amount:
    buffer = units.buffer(written)
    match buffer.unit:
        case "packets" | "bytes":
            return _Amount(buffer.amount, buffer.unit)
        case "ns":
            return _Amount(link.bytes_in(buffer.amount), "bytes", one_packet=_PACKET_BYTES)
        case "bdp":
            bdp_packets = link.bytes_in(units.time(link.rtt)) / _PACKET_BYTES
            return _Amount(buffer.amount * bdp_packets, "packets", one_packet=1)


def _nearest(amount: Fraction) -> int:
    """Round to the nearest whole number; halves go up, as people round."""
    return int(amount + Fraction(1, 2))
