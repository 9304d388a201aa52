"""Elements on a path: the settings of each kind, what can be wrong with them, and what they are in a run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tussle import units
from tussle.scenario.distributions import run_distribution
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Element, Path

SETTINGS: dict[str, dict[str, str | None]] = {
    "jitter": {"delay": "normal(5 ms, 2 ms)", "order": None},
    "ramp": {"begin": "10 s", "end": "20 s", "from": "0 ms", "to": "50 ms"},
    "handover": {"every": "15 s", "delay": "uniform(0 ms, 20 ms)", "pause": None},
    "outage": {"up": "exponential(10 s)", "down": "500 ms", "while_down": None},
    "aggregate": {"hold": "4 ms", "most_packets": None},
    "policer": {"rate": "10 Mbit/s", "burst": "100 kB"},
    "gilbert_elliott": {"p": "1 %", "r": "30 %", "loss_good": None, "loss_bad": None},
    "loss_periodic": {"every_packets": "100"},
    "loss_list": {"packets": "20, 40-45"},
    "corrupt": {"probability": "0.1 %"},
    "duplicate": {"probability": "0.1 %"},
}
"""What each kind takes, with an example if it cannot do without."""
_ANYWHERE = {"kind", "place"}
_BARE = {"every_packets"}
"""Settings that are numbers, not text."""

RunElement = dict[str, Any]


class Placed(NamedTuple):
    """The elements before and after a bottleneck."""

    before: list[RunElement]
    after: list[RunElement]


def misplaced_element_settings(path: Path) -> Iterator[Problem]:
    """Find settings that no kind of their element takes; lists of values may stand in the path."""
    for where, elements in (
        ("path.elements", path.elements),
        ("path.reverse.elements", path.reverse.elements),
    ):
        for index, element in enumerate(elements or ()):
            kinds = [element.kind] if isinstance(element.kind, str) else list(element.kind)
            taken = list(dict.fromkeys(setting for kind in kinds for setting in SETTINGS[kind]))
            for setting in _given(element):
                if setting not in taken:
                    takers = [kind for kind, settings in SETTINGS.items() if setting in settings]
                    yield Problem(
                        f"{where}.{index}.{setting}",
                        f"a setting of {' and '.join(takers)}; {' and '.join(kinds)} "
                        f"{'takes' if len(kinds) == 1 else 'take'} {', '.join(taken)}",
                    )


def _given(element: Element) -> dict[str, Any]:
    return element.model_dump(by_alias=True, exclude_none=True, exclude=_ANYWHERE)


def element_problems(elements: Iterable[Element], packet_bytes: int) -> Iterator[Problem]:
    """Find what is wrong with elements without axes; `packet_bytes` is the largest packet that comes.

    The places of the problems begin with the element's number.
    """
    for index, element in enumerate(elements):
        missing = {
            setting: example
            for setting, example in SETTINGS[str(element.kind)].items()
            if example is not None and setting not in _given(element)
        }
        for setting, example in missing.items():
            written = example if setting in _BARE else f'"{example}"'
            yield Problem(f"{index}.{setting}", f"missing; {element.kind} needs it, like {written}")
        if not missing:
            for problem in _between_settings(element, packet_bytes):
                yield Problem(f"{index}.{problem.where}", problem.what)


def _between_settings(element: Element, packet_bytes: int) -> Iterator[Problem]:
    match element.kind:
        case "ramp" if units.time(element.end) <= units.time(element.begin):
            yield Problem("end", f"{element.end} is not after begin, {element.begin}")
        case "handover" if element.pause and units.time(element.pause) >= units.time(element.every):
            yield Problem("pause", f"{element.pause} is not less than every, {element.every}")
        case "policer" if units.size(element.burst) < packet_bytes:
            yield Problem(
                "burst", f"{element.burst} lets no full packet pass; give at least {packet_bytes} B"
            )
        case _:
            return


def run_elements(elements: Iterable[Element], suffix: str) -> Placed:
    """Return what a run says of a path's elements, in the order that packets meet them; none may have axes.

    Each is named by its kind, its number if there are several of it, and `suffix`.
    """
    placed = Placed([], [])
    times: Counter[str] = Counter()
    for element in elements:
        kind = str(element.kind)
        times[kind] += 1
        number = f"-{times[kind]}" if times[kind] > 1 else ""
        built: RunElement = {"name": f"{kind}{number}{suffix}", "kind": kind}
        for setting, written in _given(element).items():
            if setting in SETTINGS[kind]:
                built |= _of_run(setting, written)
        (placed.before if element.place == "before" else placed.after).append(built)
    return placed


def _of_run(setting: str, written: Any) -> RunElement:
    name, value_of = _IN_A_RUN.get(setting, (setting, _as_written))
    return {name: value_of(written)}


def _as_written(written: Any) -> Any:
    return written


def _probability(written: object) -> float:
    return float(units.fraction(written))


def packet_numbers(text: str) -> list[int]:
    """Return the numbers that a list names, ascending.

    >>> packet_numbers("3, 7-9")
    [3, 7, 8, 9]
    """
    ranges = [part.partition("-") for part in text.split(",")]
    return [number for first, _, last in ranges for number in range(int(first), int(last or first) + 1)]


_IN_A_RUN: dict[str, tuple[str, Callable[[Any], Any]]] = {
    "delay": ("delay", run_distribution),
    "up": ("up", run_distribution),
    "down": ("down", run_distribution),
    "from": ("from_delay_ns", units.time),
    "to": ("to_delay_ns", units.time),
    "begin": ("begin_ns", units.time),
    "end": ("end_ns", units.time),
    "every": ("every_ns", units.time),
    "pause": ("pause_ns", units.time),
    "hold": ("hold_ns", units.time),
    "rate": ("rate_bit_per_s", units.rate),
    "burst": ("burst_bytes", units.size),
    "p": ("p", _probability),
    "r": ("r", _probability),
    "loss_good": ("loss_good", _probability),
    "loss_bad": ("loss_bad", _probability),
    "probability": ("probability", _probability),
    "packets": ("packets", packet_numbers),
}
"""What a setting is called in a run, and how its value is found; others are as written."""
