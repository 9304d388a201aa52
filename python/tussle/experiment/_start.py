"""The default start of the second algorithm's flows in `tussle matrix`."""

from dataclasses import dataclass

from tussle import units
from tussle.errors import argument

_STAGGER_NS = 10_000_000_000
_JITTER_NS = 20_000_000
_NS_PER_MS = 1_000_000


@dataclass(frozen=True)
class ChosenStart:
    """The start of the second algorithm's flows, and the random part of every flow's start."""

    stagger: str
    jitter: str
    reason: str
    """One line for the terminal; empty if the duration decided nothing."""


def chosen_start(duration: object) -> ChosenStart:
    """Choose a start in the first half of the run, and a jitter that leaves a quarter of it.

    Of several durations, the shortest one decides. None, or what is not a time, decides nothing: a scenario
    refuses it with a better message.
    """
    durations = duration if isinstance(duration, list | tuple) else [duration]
    try:
        shortest_ns = min(map(units.time, durations))
    except (units.UnitError, ValueError):
        shortest_ns = 2 * _STAGGER_NS
    half_ns = max(shortest_ns, 0) // 2
    stagger, jitter = _written(min(_STAGGER_NS, half_ns)), _written(min(_JITTER_NS, half_ns // 2))
    reason = (
        f"the second algorithm's flows start after {stagger}, half of the run "
        f"({argument('stagger')} changes it)"
        if half_ns < _STAGGER_NS
        else ""
    )
    return ChosenStart(stagger, jitter, reason)


def _written(ns: int) -> str:
    whole_s, rest_ns = divmod(ns, 1000 * _NS_PER_MS)
    return f"{ns / _NS_PER_MS:.12g} ms" if rest_ns else f"{whole_s} s"
