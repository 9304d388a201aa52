"""The elements of a dumbbell: rates, delays and buffers of a path and of its flows' access links."""

from collections.abc import Iterator, Mapping
from typing import Any

from tussle import units
from tussle.profiles import profiles
from tussle.scenario.problems import Problem
from tussle.scenario.queues import DEFAULTS as QUEUE_DEFAULTS
from tussle.scenario.queues import Link, queue_of_run, queue_problems, with_default_limit
from tussle.scenario.tables import Access, Path

HEADER_BYTES = 52
"""IPv4 and TCP with timestamps: what a full packet has beside its payload."""
_DEFAULTS = {"loss": "0 %", "queue": QUEUE_DEFAULTS, "reverse": {"loss": "0 %"}}

Element = dict[str, Any]


def complete_path(path: Path) -> Path:
    """Fill in what the path does not give: from its profile, from the defaults, and on the way back as there.

    The rate and the RTT stay `None` if neither the path nor a profile gives them.
    """
    profile = profiles()[path.profile].path if isinstance(path.profile, str) else {}
    there = _over(_over(_DEFAULTS, profile), path.model_dump(exclude_none=True))
    as_there = {key: there[key] for key in ("rate", "queue") if key in there}
    back = _over(as_there, there["reverse"])
    for way in (there, back):
        way["queue"] = with_default_limit(way["queue"])
    return Path.model_validate({**there, "reverse": back})


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


def path_elements(path: Path) -> tuple[list[Element], list[Element]]:
    """List the elements of a completed path, in the order that packets meet them: there, and back."""
    rtt_ns = units.time(path.rtt)
    back = path.reverse
    return (
        [
            *_loss("loss", path.loss),
            _link("bottleneck", path.rate, rtt_ns // 2)
            | {"queue": queue_of_run(path.queue, Link(path.rate, path.rtt))},
        ],
        [
            *_loss("loss-reverse", back.loss),
            _link("bottleneck-reverse", back.rate, rtt_ns - rtt_ns // 2)
            | {"queue": queue_of_run(back.queue, Link(back.rate, path.rtt))},
        ],
    )


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
