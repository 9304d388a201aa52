"""The elements of a dumbbell: rates, delays and buffers of a path and of its flows' access links."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tussle import units
from tussle.profiles import profiles
from tussle.scenario.buffers import Link
from tussle.scenario.elements import element_problems, run_elements
from tussle.scenario.problems import Problem
from tussle.scenario.queues import DEFAULTS as QUEUE_DEFAULTS
from tussle.scenario.queues import completed, queue_problems
from tussle.scenario.tables import Access, Arq, Change, Path, Reverse
from tussle.scenario.traces import read_trace

_SOURCES = {"rate", "trace"}
"""What says how fast a bottleneck is: one of them."""
HEADER_BYTES = 52
"""IPv4 and TCP with timestamps: the headers of a full packet."""
_DEFAULTS = {"loss": "0 %", "queue": QUEUE_DEFAULTS, "reverse": {"loss": "0 %"}}

_LEAST_WIFI_BIT_PER_S = 6_000_000

Element = dict[str, Any]


class _Halves(NamedTuple):
    """How a round-trip time is shared by the two directions."""

    there_ns: int
    back_ns: int


def halves(rtt: object) -> _Halves:
    """Share a round-trip time between the two directions."""
    rtt_ns = units.time(rtt)
    return _Halves(rtt_ns // 2, rtt_ns - rtt_ns // 2)


def complete_path(path: Path) -> Path:
    """Complete a path: from its profile, from the defaults, and its reverse path from the forward path.

    The RTT, and both the rate and the trace, stay `None` if neither the path nor a profile gives them.
    """
    given = path.model_dump(by_alias=True, exclude_none=True)
    profile = profiles()[path.profile].path if isinstance(path.profile, str) else {}
    there = _over(_over(_DEFAULTS, _under(profile, given)), given)
    back = there["reverse"]
    as_there = {key: there[key] for key in ("rate", "trace", "queue") if key in there}
    changes = there.get("changes", [])
    if not _SOURCES & back.keys():
        changes = [{"reverse_rate": each["rate"], **each} if "rate" in each else each for each in changes]
    reverse = _over(_under(as_there, back), back)
    for way in (there, reverse):
        way["queue"] = completed(way["queue"])
    return Path.model_validate({**there, "changes": changes, "reverse": reverse})


def _under(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` without its rate or trace, in each direction, where `above` gives one of them."""
    kept = {key: value for key, value in below.items() if key not in _SOURCES or not _SOURCES & above.keys()}
    if "reverse" in below and "reverse" in above:
        kept["reverse"] = _under(below["reverse"], above["reverse"])
    return kept


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Both tables, one inside the other; where both have a value, that of `above`."""
    both = {
        key: _over(below[key], above[key])
        for key in below.keys() & above.keys()
        if isinstance(below[key], dict)
    }
    return {**below, **above, **both}


def path_problems(path: Path, packet_bytes: int) -> Iterator[Problem]:
    """Find what is wrong with a completed path; `packet_bytes` is the largest packet that crosses it."""
    needed = {"rate": "100 Mbit/s", "rtt": "40 ms"} if path.trace is None else {"rtt": "40 ms"}
    missing = [key for key in needed if getattr(path, key) is None]
    for key in missing:
        yield Problem(
            f"path.{key}", f'missing; give one like "{needed[key]}", or a profile ({", ".join(profiles())})'
        )
    there = list(_direction_problems(path))
    yield from _at("path", there)
    yield from _at("path.reverse", [] if there else _direction_problems(path.reverse))
    if missing or there:
        return
    there = list(queue_problems(path.queue, _link(path, path.rtt), packet_bytes))
    back = queue_problems(path.reverse.queue, _link(path.reverse, path.rtt), packet_bytes)
    # What is wrong there is wrong back, too, where nothing else is written.
    yield from _at("path.queue", there)
    yield from _at("path.reverse.queue", [] if there else back)
    yield from _at("path.elements", element_problems(path.elements or (), packet_bytes))
    yield from _at("path.reverse.elements", element_problems(path.reverse.elements or (), packet_bytes))


def _at(where: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    return (Problem(f"{where}.{problem.where}", problem.what) for problem in problems)


def _direction_problems(direction: Path | Reverse) -> Iterator[Problem]:
    if direction.trace is not None and direction.rate is not None:
        yield Problem("trace", "a trace says how fast the link is; give either a trace or a rate")
    elif direction.trace is not None and direction.arq is not None:
        yield Problem("arq", "a trace contains the errors of its radio link; give either a trace or arq")
    elif direction.wifi is not None and (direction.trace is not None or direction.arq is not None):
        yield Problem("wifi", "a bottleneck is one of wifi, trace and arq; give one of them")
    elif direction.wifi is not None and direction.rate is not None and _below_wifi(direction.rate):
        yield Problem("rate", f"{direction.rate} is below any of WiFi; give 6 Mbit/s to 54 Mbit/s")


def _below_wifi(rate: object) -> bool:
    return units.rate(rate) < _LEAST_WIFI_BIT_PER_S


def change_problems(path: Path, duration: object) -> Iterator[Problem]:
    """Find what is wrong with the changes of a completed path in a run that lasts for `duration`."""
    before = None
    for index, change in enumerate(path.changes or ()):
        where = f"path.changes.{index}"
        if change.rate is change.rtt is change.reverse_rate is None:
            yield Problem(where, "nothing changes; give a rate, an rtt or both")
        for direction in (path, path.reverse):
            kind = (
                "a trace" if direction.trace is not None else "wifi" if direction.wifi is not None else None
            )
            if kind:
                yield Problem(
                    where, f"{kind} does not change; give the path a rate instead, in both directions"
                )
                break
        if before is not None and units.time(change.at) <= units.time(before):
            yield Problem(f"{where}.at", f"{change.at} is not after the change before it at {before}")
        elif units.time(change.at) >= units.time(duration):
            yield Problem(f"{where}.at", f"{change.at} is not before the end of the run at {duration}")
        before = change.at


def path_elements(path: Path) -> tuple[list[Element], list[Element]]:
    """List the elements of a completed path, in the order that packets meet them: there, and back."""
    base, back = halves(path.rtt), path.reverse
    there_changes, back_changes = _changes(path.changes or ())
    here = _bottleneck(path, _link(path, path.rtt)) | {"delay_ns": base.there_ns} | there_changes
    behind = _bottleneck(back, _link(back, path.rtt)) | {"delay_ns": base.back_ns} | back_changes
    return _around({"name": "bottleneck"} | here, path), _around(
        {"name": "bottleneck-reverse"} | behind, back
    )


def _around(bottleneck: Element, direction: Path | Reverse) -> list[Element]:
    """Return the bottleneck with what its packets meet before and after it."""
    suffix = bottleneck["name"].removeprefix("bottleneck")
    elements = run_elements(direction.elements or (), suffix)
    return [*_loss(f"loss{suffix}", direction.loss), *elements.before, bottleneck, *elements.after]


def _bottleneck(direction: Path | Reverse, link: Link) -> Element:
    queue = {"queue": direction.queue.in_run(link)}
    if direction.trace is not None:
        return {
            "kind": "trace",
            "opportunities_ms": read_trace(str(direction.trace)).opportunities_ms,
        } | queue
    model = _arq(direction.arq) if direction.arq else {"kind": "link"}
    model = {"kind": "wifi", **direction.wifi.model_dump()} if direction.wifi else model
    return model | {"rate_bit_per_s": units.rate(direction.rate)} | queue


def _arq(arq: Arq) -> Element:
    return {
        "kind": "arq",
        "block_error": float(units.fraction(arq.block_error)),
        "block_bytes": None if arq.block is None else units.size(arq.block),
        "attempts": arq.attempts,
        "retry_delay_ns": units.time(arq.retry_delay),
        "overhead_ns": units.time(arq.overhead),
    }


def _link(direction: Path | Reverse, rtt: object) -> Link:
    """Return what buffers are sized by; a recorded link counts with its mean rate."""
    if direction.trace is None:
        return Link(direction.rate, rtt)
    return Link(f"{read_trace(str(direction.trace)).rate_bit_per_s()} bit/s", rtt)


def links_of(path: Path) -> tuple[Link, Link]:
    """Return what buffers of a completed path are sized by: there, and back."""
    return _link(path, path.rtt), _link(path.reverse, path.rtt)


def _changes(changes: Iterable[Change]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what changes of the link there and of the link back: nothing at all where nothing does."""
    there, back = [], []
    for change in changes:
        base = None if change.rtt is None else halves(change.rtt)
        there.append(_change(change.at, change.rate, base and base.there_ns))
        back.append(_change(change.at, change.reverse_rate, base and base.back_ns))
    found = [[each for each in direction if len(each) > 1] for direction in (there, back)]
    made = [{"changes": each} if each else {} for each in found]
    return made[0], made[1]


def _change(at: object, rate: object, delay_ns: int | None) -> dict[str, int]:
    change = {"at_ns": units.time(at)}
    if rate is not None:
        change["rate_bit_per_s"] = units.rate(rate)
    return change if delay_ns is None else {**change, "delay_ns": delay_ns}


def access_elements(access: Access, name: str) -> tuple[list[Element], list[Element]]:
    """List a flow's own link there and back: nothing at all where it neither delays nor limits."""
    delay_ns = units.time(access.delay or 0)
    if access.rate is not None:
        unlimited = {"queue": {"kind": "fifo"}}
        return (
            [_access(name, access.rate, delay_ns) | unlimited],
            [_access(f"{name}-reverse", access.rate, delay_ns) | unlimited],
        )
    if delay_ns:
        return (
            [{"name": name, "kind": "delay", "delay_ns": delay_ns}],
            [{"name": f"{name}-reverse", "kind": "delay", "delay_ns": delay_ns}],
        )
    return [], []


def _access(name: str, rate: object, delay_ns: int) -> Element:
    return {"name": name, "kind": "link", "rate_bit_per_s": units.rate(rate), "delay_ns": delay_ns}


def _loss(name: str, written: object) -> list[Element]:
    probability = units.fraction(written)
    return [{"name": name, "kind": "loss", "probability": float(probability)}] if probability else []
