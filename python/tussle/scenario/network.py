"""The elements of a dumbbell: rates, delays and buffers of a path and of its flows' access links."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any, NamedTuple

from tussle import units
from tussle.profiles import profiles
from tussle.scenario.problems import Problem
from tussle.scenario.queues import DEFAULTS as QUEUE_DEFAULTS
from tussle.scenario.queues import Link, queue_of_run, queue_problems
from tussle.scenario.tables import Access, Change, Path

HEADER_BYTES = 52
"""IPv4 and TCP with timestamps: what a full packet has beside its payload."""
_DEFAULTS = {"loss": "0 %", "queue": QUEUE_DEFAULTS, "reverse": {"loss": "0 %"}}

Element = dict[str, Any]


class _Halves(NamedTuple):
    """How a round-trip time is shared by the two directions."""

    there_ns: int
    back_ns: int

    @classmethod
    def of(cls, rtt: object) -> "_Halves":
        rtt_ns = units.time(rtt)
        return cls(rtt_ns // 2, rtt_ns - rtt_ns // 2)


def complete_path(path: Path) -> Path:
    """Fill in what the path does not give: from its profile, from the defaults, and on the way back as there.

    The rate and the RTT stay `None` if neither the path nor a profile gives them.
    """
    profile = profiles()[path.profile].path if isinstance(path.profile, str) else {}
    there = _over(_over(_DEFAULTS, profile), path.model_dump(exclude_none=True))
    as_there = {key: there[key] for key in ("rate", "queue") if key in there}
    changes = there.get("changes", [])
    if "rate" not in there["reverse"]:
        changes = [{"reverse_rate": each["rate"], **each} if "rate" in each else each for each in changes]
    return Path.model_validate({**there, "changes": changes, "reverse": _over(as_there, there["reverse"])})


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
    for key, example in {"rate": "100 Mbit/s", "rtt": "40 ms"}.items():
        if getattr(path, key) is None:
            yield Problem(
                f"path.{key}", f'missing; give one like "{example}", or a profile ({", ".join(profiles())})'
            )
    if path.rate is None or path.rtt is None:
        return
    there = list(queue_problems(path.queue, Link(path.rate, path.rtt), packet_bytes))
    back = queue_problems(path.reverse.queue, Link(path.reverse.rate, path.rtt), packet_bytes)
    # What is wrong there is wrong back, too, where nothing else is written.
    for where, found in {"path.queue": there, "path.reverse.queue": [] if there else back}.items():
        for problem in found:
            yield Problem(f"{where}.{problem.where}", problem.what)


def change_problems(changes: Iterable[Change], duration: object) -> Iterator[Problem]:
    """Find what is wrong with the changes of a path in a run that lasts for `duration`."""
    before = None
    for index, change in enumerate(changes):
        where = f"path.changes.{index}"
        if change.rate is change.rtt is change.reverse_rate is None:
            yield Problem(where, "nothing changes; give a rate, an rtt or both")
        if before is not None and units.time(change.at) <= units.time(before):
            yield Problem(f"{where}.at", f"{change.at} is not after the change before it at {before}")
        elif units.time(change.at) >= units.time(duration):
            yield Problem(f"{where}.at", f"{change.at} is not before the end of the run at {duration}")
        before = change.at


def path_elements(path: Path) -> tuple[list[Element], list[Element]]:
    """List the elements of a completed path, in the order that packets meet them: there, and back."""
    base, back = _Halves.of(path.rtt), path.reverse
    there_changes, back_changes = _changes(path.changes or ())
    return (
        [
            *_loss("loss", path.loss),
            _link("bottleneck", path.rate, base.there_ns)
            | {"queue": queue_of_run(path.queue, Link(path.rate, path.rtt)), **there_changes},
        ],
        [
            *_loss("loss-reverse", back.loss),
            _link("bottleneck-reverse", back.rate, base.back_ns)
            | {"queue": queue_of_run(back.queue, Link(back.rate, path.rtt)), **back_changes},
        ],
    )


def _changes(changes: Iterable[Change]) -> tuple[dict[str, Any], dict[str, Any]]:
    """Return what changes of the link there and of the link back: nothing at all where nothing does."""
    there, back = [], []
    for change in changes:
        base = None if change.rtt is None else _Halves.of(change.rtt)
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
            [_link(name, access.rate, delay_ns) | unlimited],
            [_link(f"{name}-reverse", access.rate, delay_ns) | unlimited],
        )
    if delay_ns:
        return (
            [{"name": name, "kind": "delay", "delay_ns": delay_ns}],
            [{"name": f"{name}-reverse", "kind": "delay", "delay_ns": delay_ns}],
        )
    return [], []


def _link(name: str, rate: object, delay_ns: int) -> Element:
    return {"name": name, "kind": "link", "rate_bit_per_s": units.rate(rate), "delay_ns": delay_ns}


def _loss(name: str, written: object) -> list[Element]:
    probability = units.fraction(written)
    return [{"name": name, "kind": "loss", "probability": float(probability)}] if probability else []
