"""Queues of a path: completion and checks of their settings."""

from collections.abc import Iterator, Mapping
from typing import Any

from tussle.profiles import profiles
from tussle.scenario.buffers import Link, amount
from tussle.scenario.kinds import SimulatorDefault
from tussle.scenario.problems import Problem
from tussle.scenario.queue_kinds import LIMIT, QUEUES, Queue, Red
from tussle.scenario.tables import Path

DEFAULTS = {"kind": "fifo"}
_MOST_PACKETS = 4_000_000_000
"""Tables count packets in 32 bits."""


def misplaced_queue_settings(path: Path) -> Iterator[Problem]:
    """Find settings that no kind of their queue takes; the path may have axes."""
    forward = _kinds(path)
    reverse = _listed(path.reverse.queue.kind) or forward
    yield from QUEUES.misplaced(path.queue, forward, "path.queue")
    yield from QUEUES.misplaced(path.reverse.queue, reverse, "path.reverse.queue")


def _kinds(path: Path) -> list[str]:
    """Return the kinds of the queue on the forward path: as written, by the profiles, or the default."""
    of_profiles = [profiles()[name].path.get("queue", {}).get("kind") for name in _listed(path.profile)]
    found = _listed(path.queue.kind) or of_profiles or [None]
    return list(dict.fromkeys(kind or DEFAULTS["kind"] for kind in found))


def _listed(value: str | tuple[str, ...] | None) -> list[str]:
    return [] if value is None else [value] if isinstance(value, str) else list(value)


def completed(queue: Mapping[str, Any]) -> Queue:
    """Return a queue of one kind with the settings of that kind.

    A limit that is not given gets the default, unless the simulator has its own default for the kind.
    """
    default = QUEUES.by_name[queue["kind"]].model_fields["limit"].json_schema_extra
    limited = {"limit": LIMIT, **queue} if default == SimulatorDefault(LIMIT) else queue
    return QUEUES.settle(limited)


def queue_problems(queue: Queue, link: Link, packet_bytes: int) -> Iterator[Problem]:
    """Check a completed queue; `packet_bytes` is the largest packet that arrives."""
    limit = {} if queue.limit is None else type(queue)(kind=queue.kind, limit=queue.limit).in_run(link)
    if limit.get("limit_packets", 0) > _MOST_PACKETS:
        yield Problem(
            "limit", f"{queue.limit} is {limit['limit_packets']} packets; give at most {_MOST_PACKETS}"
        )
    if limit.get("limit_bytes", packet_bytes) < packet_bytes:
        yield Problem("limit", f"{queue.limit} does not hold one packet; give at least {packet_bytes} B")
    missing = queue.missing()
    for key, needed in missing.items():
        yield Problem(key, f"missing; a {queue.kind} queue needs it, like {needed.in_toml()}")
    if isinstance(queue, Red) and not missing:
        least, most = amount(queue.min, link), amount(queue.max, link)
        if most.packets() <= least.packets():
            yield Problem("max", f"{queue.max} is not more than min, {queue.min}; twice as much is advised")
