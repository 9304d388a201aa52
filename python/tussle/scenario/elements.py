"""Elements of a path beside the bottleneck: checks of their settings, and conversion to those of a run."""

from collections import Counter
from collections.abc import Iterable, Iterator
from typing import Any, NamedTuple

from tussle import units
from tussle.scenario.element_kinds import ELEMENTS, Element, Handover, Policer, Ramp
from tussle.scenario.problems import Problem
from tussle.scenario.tables import Path

RunElement = dict[str, Any]


class Placed(NamedTuple):
    """The elements before and after a bottleneck."""

    before: list[RunElement]
    after: list[RunElement]


def misplaced_element_settings(path: Path) -> Iterator[Problem]:
    """Find settings that no kind of their element takes; the path may have axes."""
    for where, elements in (
        ("path.elements", path.elements),
        ("path.reverse.elements", path.reverse.elements),
    ):
        for index, element in enumerate(elements or ()):
            kinds = [element.kind] if isinstance(element.kind, str) else list(element.kind)
            yield from ELEMENTS.misplaced(element, kinds, f"{where}.{index}")


def element_problems(elements: Iterable[Element], packet_bytes: int) -> Iterator[Problem]:
    """Check elements without axes; `packet_bytes` is the largest packet that arrives.

    The keys of the problems begin with the element's number.
    """
    for index, element in enumerate(elements):
        missing = element.missing()
        for setting, needed in missing.items():
            what = f"missing; {element.kind} needs it, like {needed.in_toml()}"
            yield Problem(f"{index}.{setting}", what)
        if not missing:
            for problem in _between_settings(element, packet_bytes):
                yield Problem(f"{index}.{problem.where}", problem.what)


def _between_settings(element: Element, packet_bytes: int) -> Iterator[Problem]:
    match element:
        case Ramp(begin=begin, end=end) if units.time(end) <= units.time(begin):
            yield Problem("end", f"{end} is not after begin, {begin}")
        case Handover(pause=pause, every=every) if pause and units.time(pause) >= units.time(every):
            yield Problem("pause", f"{pause} is not less than every, {every}")
        case Policer(burst=burst) if units.size(burst) < packet_bytes:
            yield Problem("burst", f"{burst} lets no full packet pass; give at least {packet_bytes} B")
        case _:
            return


def run_elements(elements: Iterable[Element], suffix: str) -> Placed:
    """Return a path's elements in the format of a run, in the order that packets cross them, without axes.

    The name of an element is its kind, its number if there are several of that kind, and `suffix`.
    """
    placed = Placed([], [])
    times: Counter[str] = Counter()
    for element in elements:
        kind = str(element.kind)
        times[kind] += 1
        number = f"-{times[kind]}" if times[kind] > 1 else ""
        built: RunElement = {"name": f"{kind}{number}{suffix}"} | element.in_run()
        (placed.before if element.place == "before" else placed.after).append(built)
    return placed
