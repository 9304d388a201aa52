"""The scenario of a comparison pair by pair."""

import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from types import NoneType
from typing import TYPE_CHECKING, Any

from tussle import units
from tussle.catalog import algorithm_names, without_groups
from tussle.errors import TussleError, argument, expect, unknown
from tussle.experiment._duration import chosen_duration
from tussle.experiment._start import chosen_start
from tussle.own_algorithms import Reference, is_own
from tussle.own_sources import with_classes_named
from tussle.scenario import Scenario

if TYPE_CHECKING:
    from tussle.algorithm import Algorithm

REPETITIONS_OF_PAIRS = 6
"""The least number of runs that gives a 95 % interval of a median."""
_FLOWS = 2
_COUNT = re.compile(r"[1-9]\d*")
_NS_PER_MS = 1_000_000
_TO_BE_CHOSEN = "2 h"
"""A placeholder until the duration is chosen, longer than any sensible start time."""


@dataclass(frozen=True)
class Pairs:
    """A comparison pair by pair."""

    scenario: Scenario
    reason: str
    """What was chosen for the runs and why, in one line; empty if the duration and the start were given."""


def pairs(
    algorithms: "str | Sequence[str | type[Algorithm]]" = "all",
    *,
    profile: str = "lan",
    stagger: str | None = None,
    duration: str | None = None,
    repetitions: int = REPETITIONS_OF_PAIRS,
    settings: Mapping[str, Any] | None = None,
    rtt: "str | Sequence[str] | None" = None,
    flows: "str | Sequence[int]" = "1x1",
) -> Pairs:
    """Return the scenario in which every two algorithms meet, in both orders of start.

    Without a `stagger`, the second algorithm's flows start after 10 s, at most half of a given `duration`.
    `rtt` is the round-trip time of the path, or those of the first and of the second flow; `flows` are the
    numbers of flows that start first and that join.
    Raises TussleError for an unknown algorithm, and for values that a scenario refuses.
    """
    names, changed = algorithms_of(algorithms), dict(settings or {})
    listed = ", ".join(map(_called, names))
    rtts = _round_trip_times(rtt)
    if rtts and "path.rtt" in changed:
        raise TussleError(
            f"{argument('rtt')} and the setting path.rtt both set the round-trip time; give one of them"
        )
    with_rtts = f" with round-trip times of {rtts[0]} and {rtts[1]}" if len(set(rtts)) > 1 else ""
    counts = _flow_counts(flows)
    against = "" if counts == (1, 1) else f", {counts[0]} flows against {counts[1]}"
    differences = against + with_rtts
    path = {"profile": profile, **({"rtt": min(rtts, key=_rtt_ns)} if rtts else {})}
    start = chosen_start(changed.get("duration") if duration is None else duration)
    with _naming_arguments():
        made = Scenario.from_dict(
            {
                "question": f"Which of {listed} share a bottleneck fairly in both orders{differences}?",
                "duration": _TO_BE_CHOSEN if duration is None else duration,
                # Flows on a drop-tail queue can lock in phase, so that repetitions differ a little.
                "start_jitter": start.jitter,
                "repetitions": repetitions,
                "path": path,
                "flows": [
                    {"algorithm": names, **_side(counts, 0), **_access(rtts, 0)},
                    {
                        "algorithm": names,
                        **_side(counts, 1),
                        "start": start.stagger if stagger is None else stagger,
                        **_access(rtts, 1),
                    },
                ],
            }
        )
    chosen = made.with_settings(changed)
    if duration is not None or "duration" in changed:
        return Pairs(chosen, "" if stagger is not None or "flows.1.start" in changed else start.reason)
    # The flow with the longest round-trip time takes the longest to converge.
    slowest = {"path.rtt": max(rtts, key=_rtt_ns)} if rtts else {}
    suited = chosen_duration(chosen.with_settings(slowest) if slowest else chosen)
    return Pairs(chosen.with_settings(suited.settings | changed), suited.reason)


def algorithms_of(written: "str | Sequence[str | type[Algorithm]]") -> list[str]:
    """Return the algorithms of a list; a group is replaced by its algorithms, and a class by its file.

    Raises TussleError for an unknown name, with the nearest one.
    """
    known = algorithm_names()
    expect("algorithms", written, (str, Sequence), "a list of algorithms")
    for each in written:
        expect("algorithms", each, (str, type), "the name of an algorithm, or a class")
    given = written.split(",") if isinstance(written, str) else with_classes_named(list(written))
    names = [name.strip() for name in given if name.strip()]
    if not names:
        raise TussleError(f"{argument('algorithms')} names no algorithm; give some of {', '.join(known)}")
    for name in names:
        if name not in known and not is_own(name):
            raise TussleError(f"{argument('algorithms')}: {unknown('algorithm', name, known)}")
    return list(dict.fromkeys(without_groups(names)))


def _round_trip_times(written: "str | Sequence[str] | None") -> list[str]:
    """Return those of the first and of the second flow; none if the profile decides."""
    expect("rtt", written, (str, Sequence, NoneType), 'a time, like "20 ms", or a list of two')
    texts = written.split(",") if isinstance(written, str) else list(written or [])
    for text in texts:
        expect("rtt", text, str, 'a time, like "20 ms"')
    texts = [text.strip() for text in texts]
    if not texts:
        return []
    if len(texts) > _FLOWS:
        raise TussleError(
            f"{argument('rtt')}: give one round-trip time, or those of the first and of the second flow"
        )
    for text in texts:
        _rtt_ns(text)
    return [texts[0], texts[-1]]


def _flow_counts(written: "str | Sequence[int]") -> tuple[int, int]:
    """Return the numbers of flows of the first and of the second algorithm."""
    expect("flows", written, (str, Sequence), "two numbers of flows, like (4, 1)")
    texts = written.split("x") if isinstance(written, str) else list(map(str, written))
    texts = [text.strip() for text in texts]
    if len(texts) != _FLOWS or not all(map(_COUNT.fullmatch, texts)):
        shown = written if isinstance(written, str) else "x".join(texts)
        raise TussleError(
            f'{argument("flows")}: "{shown}" is not two numbers of flows, each at least 1; write them like '
            "4x1: "
            "four flows start first, and one joins them"
        )
    return int(texts[0]), int(texts[1])


def _side(counts: tuple[int, int], side: int) -> dict[str, Any]:
    """Return name and number of the flows of a side; metrics find the sides by these names."""
    return {} if counts == (1, 1) else {"name": ("first", "second")[side], "count": counts[side]}


def _rtt_ns(written: str) -> int:
    try:
        return units.time(written)
    except units.UnitError as error:
        raise TussleError(f"{argument('rtt')}: {error}") from None


def _access(rtts: Sequence[str], flow: int) -> dict[str, Any]:
    """Return the access link that adds to the shorter round-trip time what this flow has more."""
    more_ns = _rtt_ns(rtts[flow]) - min(map(_rtt_ns, rtts)) if rtts else 0
    return {"access": {"delay": f"{more_ns / 2 / _NS_PER_MS:.12g} ms"}} if more_ns else {}


def _called(name: str) -> str:
    """Name an algorithm without the folder of its file."""
    reference = Reference.parse(name)
    return f"{reference.file.name}:{reference.class_name}" if reference else name


@contextmanager
def _naming_arguments() -> Iterator[None]:
    """Replace keys of the scenario in errors by the arguments that set them: the user wrote no scenario."""
    names = {
        "duration": "duration",
        "repetitions": "repetitions",
        "path.profile": "profile",
        "path.rtt": "rtt",
        "flows.1.start": "stagger",
        "flows.0.count": "flows",
        "flows.1.count": "flows",
        "flows": "flows",
    }
    try:
        yield
    except TussleError as error:
        sentences = str(error)
        for key, name in names.items():
            sentences = sentences.replace(f"scenario, {key}: ", f"{argument(name)}: ")
        raise TussleError(sentences, error.details) from error
