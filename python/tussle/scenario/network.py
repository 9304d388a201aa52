"""The elements of a dumbbell: rates, delays and buffers of a path and of its flows' access links."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tussle import units
from tussle.profiles import profiles
from tussle.scenario.bottleneck import BOTTLENECK
from tussle.scenario.buffers import Link
from tussle.scenario.distributions import run_distribution, time_distribution
from tussle.scenario.elements import element_problems, run_elements
from tussle.scenario.problems import Problem
from tussle.scenario.queues import DEFAULTS as QUEUE_DEFAULTS
from tussle.scenario.queues import completed, queue_problems
from tussle.scenario.tables import Access, Arq, Change, Path, Reverse
from tussle.scenario.traces import read_trace

_SOURCES = {"rate", "trace"}
"""Keys that give the rate of a bottleneck; it has one of them."""
HEADER_BYTES = 52
"""IPv4 and TCP with timestamps: the headers of a full packet."""
_DEFAULTS = {"loss": "0 %", "queue": QUEUE_DEFAULTS, "reverse": {"loss": "0 %"}}

_MEDIA = {
    "arq": {"block_error": "0 %", "attempts": 1, "retry_delay": "0 s", "overhead": "0 s"},
    "wifi": {"stations": 0, "signal_dbm": -50, "fading_db": 0},
}
"""Settings of a radio link and of WiFi that neither the path nor its profile gives."""

_LEAST_WIFI_BIT_PER_S = 6_000_000

Element = dict[str, Any]


class _Halves(NamedTuple):
    """The delays of the two directions."""

    forward_ns: int
    reverse_ns: int


def halves(rtt: object) -> _Halves:
    """Split a round-trip time between the two directions."""
    rtt_ns = units.time(rtt)
    return _Halves(rtt_ns // 2, rtt_ns - rtt_ns // 2)


def complete_path(path: Path) -> Path:
    """Complete a path: from its profile, from the defaults, and its reverse path from the forward path.

    The RTT, and both the rate and the trace, stay `None` if neither the path nor a profile gives them.
    """
    given = path.model_dump(by_alias=True, exclude_none=True)
    profile = profiles()[path.profile].path if isinstance(path.profile, str) else {}
    forward = _over(_over(_DEFAULTS, _under(profile, given)), given)
    of_reverse = forward["reverse"]
    inherited = {key: forward[key] for key in ("rate", "trace", "queue") if key in forward}
    changes = forward.get("changes", [])
    if not _SOURCES & of_reverse.keys():
        changes = [{"reverse_rate": each["rate"], **each} if "rate" in each else each for each in changes]
    reverse = _over(_under(inherited, of_reverse), of_reverse)
    for direction in (forward, reverse):
        direction["queue"] = completed(direction["queue"])
        direction |= {name: _MEDIA[name] | direction[name] for name in _MEDIA.keys() & direction.keys()}
    return Path.model_validate({**forward, "changes": changes, "reverse": reverse})


def _under(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Return `below` without its rate or trace, in each direction, where `above` gives one of them."""
    kept = {key: value for key, value in below.items() if key not in _SOURCES or not _SOURCES & above.keys()}
    if "reverse" in below and "reverse" in above:
        kept["reverse"] = _under(below["reverse"], above["reverse"])
    return kept


def _over(below: Mapping[str, Any], above: Mapping[str, Any]) -> dict[str, Any]:
    """Merge two tables; where both have a value, take that of `above`."""
    both = {
        key: _over(below[key], above[key])
        for key in below.keys() & above.keys()
        if isinstance(below[key], dict)
    }
    return {**below, **above, **both}


def path_problems(path: Path, packet_bytes: int) -> Iterator[Problem]:
    """Check a completed path; `packet_bytes` is the largest packet that crosses it."""
    needed = {"rate": "100 Mbit/s", "rtt": "40 ms"} if path.trace is None else {"rtt": "40 ms"}
    missing = [key for key in needed if getattr(path, key) is None]
    for key in missing:
        yield Problem(
            f"path.{key}", f'missing; give one like "{needed[key]}", or a profile ({", ".join(profiles())})'
        )
    forward = list(_direction_problems(path))
    yield from _at("path", forward)
    yield from _at("path.reverse", [] if forward else _direction_problems(path.reverse))
    if missing or forward:
        return
    forward = list(queue_problems(path.queue, _link(path, path.rtt), packet_bytes))
    reverse = queue_problems(path.reverse.queue, _link(path.reverse, path.rtt), packet_bytes)
    # The reverse path inherits the settings of the forward path, and with them its problems.
    yield from _at("path.queue", forward)
    yield from _at("path.reverse.queue", [] if forward else reverse)
    yield from _at("path.elements", element_problems(path.elements or (), packet_bytes))
    yield from _at("path.reverse.elements", element_problems(path.reverse.elements or (), packet_bytes))


def _at(where: str, problems: Iterable[Problem]) -> Iterator[Problem]:
    return (Problem(f"{where}.{problem.where}", problem.what) for problem in problems)


def _direction_problems(direction: Path | Reverse) -> Iterator[Problem]:
    if direction.trace is not None and direction.rate is not None:
        yield Problem("trace", "a trace gives the rate of the link; give either a trace or a rate")
    elif direction.trace is not None and direction.arq is not None:
        yield Problem("arq", "a trace contains the errors of its radio link; give either a trace or arq")
    elif direction.wifi is not None and (direction.trace is not None or direction.arq is not None):
        yield Problem("wifi", "a bottleneck is one of wifi, trace and arq; give one of them")
    elif direction.wifi is not None and direction.rate is not None and _below_wifi(direction.rate):
        yield Problem("rate", f"{direction.rate} is below the rates of WiFi; give 6 Mbit/s to 54 Mbit/s")


def _below_wifi(rate: object) -> bool:
    return units.rate(rate) < _LEAST_WIFI_BIT_PER_S


def change_problems(path: Path, duration: object) -> Iterator[Problem]:
    """Check the changes of a completed path in a run that lasts for `duration`."""
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
                    where, f"a path with {kind} cannot change; give it a rate instead, in both directions"
                )
                break
        if before is not None and units.time(change.at) <= units.time(before):
            yield Problem(f"{where}.at", f"{change.at} is not after the change before it at {before}")
        elif units.time(change.at) >= units.time(duration):
            yield Problem(f"{where}.at", f"{change.at} is not before the end of the run at {duration}")
        before = change.at


def path_elements(path: Path) -> tuple[list[Element], list[Element]]:
    """Return the elements of a completed path, forward and reverse, in the order that packets cross them."""
    base, reverse = halves(path.rtt), path.reverse
    forward_changes, reverse_changes = _changes(path.changes or ())
    forward = _bottleneck(path, _link(path, path.rtt)) | {"delay_ns": base.forward_ns} | forward_changes
    backward = (
        _bottleneck(reverse, _link(reverse, path.rtt)) | {"delay_ns": base.reverse_ns} | reverse_changes
    )
    return _around(forward, path, ""), _around(backward, reverse, "-reverse")


def _around(bottleneck: Element, direction: Path | Reverse, suffix: str) -> list[Element]:
    """Return the bottleneck with the elements before and after it; all names end in `suffix`."""
    named = {"name": f"{BOTTLENECK}{suffix}"} | bottleneck
    elements = run_elements(direction.elements or (), suffix)
    return [*_loss(f"loss{suffix}", direction.loss), *elements.before, named, *elements.after]


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
    """Return rate and RTT for the sizes of buffers; a trace has its mean rate."""
    if direction.trace is None:
        return Link(direction.rate, rtt)
    return Link(f"{read_trace(str(direction.trace)).rate_bit_per_s()} bit/s", rtt)


def links_of(path: Path) -> tuple[Link, Link]:
    """Return rate and RTT for the sizes of a completed path's buffers, forward and reverse."""
    return _link(path, path.rtt), _link(path.reverse, path.rtt)


def _changes(changes: Iterable[Change]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return the changes of the forward and of the reverse bottleneck; empty where nothing changes."""
    forward, reverse = [], []
    for change in changes:
        base = None if change.rtt is None else halves(change.rtt)
        forward.append(_change(change.at, change.rate, base and base.forward_ns))
        reverse.append(_change(change.at, change.reverse_rate, base and base.reverse_ns))
    found = [[each for each in direction if len(each) > 1] for direction in (forward, reverse)]
    made = [{"changes": each} if each else {} for each in found]
    return made[0], made[1]


def _change(at: object, rate: object, delay_ns: int | None) -> dict[str, int]:
    change = {"at_ns": units.time(at)}
    if rate is not None:
        change["rate_bit_per_s"] = units.rate(rate)
    return change if delay_ns is None else {**change, "delay_ns": delay_ns}


def access_elements(access: Access, name: str) -> tuple[list[Element], list[Element]]:
    """Return a flow's access link, forward and reverse; empty if it has no delay, rate or jitter."""
    forward, reverse = _access_link(access, name)
    jitter = [{"name": f"{name}-jitter{way}"} | _jitter(access.jitter) for way in ("", "-reverse")]
    if access.jitter is None or not time_distribution(access.jitter).most():
        return forward, reverse
    return [*forward, jitter[0]], [jitter[1], *reverse]


def _jitter(delay: object) -> Element:
    return {"kind": "jitter", "delay": run_distribution(delay or "0 s"), "order": "kept"}


def _access_link(access: Access, name: str) -> tuple[list[Element], list[Element]]:
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
