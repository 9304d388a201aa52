"""Effects on a path: the settings of each kind, what can be wrong with them, and what they are in a run."""

from collections import Counter
from collections.abc import Callable, Iterable, Iterator
from typing import Any, NamedTuple

from tussle import units
from tussle.scenario.draws import draws
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Effect, Path

SETTINGS: dict[str, dict[str, str | None]] = {
    "jitter": {"delay": "normal(5 ms, 2 ms)", "order": None},
    "ramp": {"begin": "10 s", "end": "20 s", "from": "0 ms", "to": "50 ms"},
    "handover": {"every": "15 s", "delay": "uniform(0 ms, 20 ms)", "pause": None},
    "outage": {"up": "exponential(10 s)", "down": "500 ms", "while_down": None},
    "aggregate": {"hold": "4 ms", "most_packets": None},
    "policer": {"rate": "10 Mbit/s", "burst": "100 kB"},
    "gilbert_elliott": {"p": "1 %", "r": "30 %", "loss_good": None, "loss_bad": None},
    "periodic": {"every_packets": "100"},
    "list": {"packets": "20, 40-45"},
    "corrupt": {"probability": "0.1 %"},
    "duplicate": {"probability": "0.1 %"},
}
"""What each kind takes, with an example if it cannot do without."""
_ANYWHERE = {"kind", "place"}
_BARE = {"every_packets"}
"""Settings that are numbers, not text."""

Element = dict[str, Any]


class Placed(NamedTuple):
    """The elements before and after a bottleneck."""

    before: list[Element]
    after: list[Element]


def misplaced_effect_settings(path: Path) -> Iterator[Problem]:
    """Find settings that no kind of their effect takes; lists of values may stand in the path."""
    for where, effects in (("path.effects", path.effects), ("path.reverse.effects", path.reverse.effects)):
        for index, effect in enumerate(effects or ()):
            kinds = [effect.kind] if isinstance(effect.kind, str) else list(effect.kind)
            taken = list(dict.fromkeys(setting for kind in kinds for setting in SETTINGS[kind]))
            for setting in _given(effect):
                if setting not in taken:
                    takers = [kind for kind, settings in SETTINGS.items() if setting in settings]
                    yield Problem(
                        f"{where}.{index}.{setting}",
                        f"a setting of {' and '.join(takers)}; {' and '.join(kinds)} "
                        f"{'takes' if len(kinds) == 1 else 'take'} {', '.join(taken)}",
                    )


def _given(effect: Effect) -> dict[str, Any]:
    return effect.model_dump(by_alias=True, exclude_none=True, exclude=_ANYWHERE)


def effect_problems(effects: Iterable[Effect], packet_bytes: int) -> Iterator[Problem]:
    """Find what is wrong with effects without axes; `packet_bytes` is the largest packet that comes.

    The places of the problems begin with the effect's number.
    """
    for index, effect in enumerate(effects):
        missing = {
            setting: example
            for setting, example in SETTINGS[str(effect.kind)].items()
            if example is not None and setting not in _given(effect)
        }
        for setting, example in missing.items():
            written = example if setting in _BARE else f'"{example}"'
            yield Problem(f"{index}.{setting}", f"missing; {effect.kind} needs it, like {written}")
        if not missing:
            for problem in _between_settings(effect, packet_bytes):
                yield Problem(f"{index}.{problem.where}", problem.what)


def _between_settings(effect: Effect, packet_bytes: int) -> Iterator[Problem]:
    match effect.kind:
        case "ramp" if units.time(effect.end) <= units.time(effect.begin):
            yield Problem("end", f"{effect.end} is not after begin, {effect.begin}")
        case "handover" if effect.pause and units.time(effect.pause) >= units.time(effect.every):
            yield Problem("pause", f"{effect.pause} is not less than every, {effect.every}")
        case "policer" if units.size(effect.burst) < packet_bytes:
            yield Problem("burst", f"{effect.burst} lets no full packet pass; give at least {packet_bytes} B")
        case _:
            return


def effect_elements(effects: Iterable[Effect], suffix: str) -> Placed:
    """Return the elements of effects without axes, in the order that packets meet them.

    Each is named by its kind, its number if there are several of it, and `suffix`.
    """
    placed = Placed([], [])
    times: Counter[str] = Counter()
    for effect in effects:
        kind = str(effect.kind)
        times[kind] += 1
        number = f"-{times[kind]}" if times[kind] > 1 else ""
        element: Element = {"name": f"{kind}{number}{suffix}", "kind": kind}
        for setting, written in _given(effect).items():
            if setting in SETTINGS[kind]:
                element |= _of_run(setting, written)
        (placed.before if effect.place == "before" else placed.after).append(element)
    return placed


def _of_run(setting: str, written: Any) -> Element:
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
    "delay": ("delay", draws),
    "up": ("up", draws),
    "down": ("down", draws),
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
