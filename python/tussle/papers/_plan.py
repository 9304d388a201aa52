"""The scenarios of a study as they run: full or quick, with other algorithms, on another path."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, get_args

from tussle.errors import TussleError, unknown
from tussle.papers._study import Part, Study
from tussle.scenario import PlannedRun, Scenario
from tussle.scenario.bottleneck import BOTTLENECK

_PACKET_BITS = 1500 * 8


class _Cost(NamedTuple):
    """Approximate time of one core for parts of a run, in seconds."""

    packet_s: float
    """Time for each packet at its hosts."""
    crossing_s: float
    """Time for each link that a packet crosses. Other elements cost little."""
    reading_s: float
    """Time for each packet if the receive window is limited, so that the application reads at once."""
    start_s: float
    simulated_s: float
    """Time for each simulated second, with or without packets."""


_COSTS = {"sim": _Cost(70e-9, 45e-9, 0.0, 0.005, 0.0), "kernel": _Cost(1e-6, 1.2e-6, 0.2e-6, 0.1, 0.0002)}


Size = Literal["full", "quick"]
SIZES: tuple[Size, ...] = get_args(Size)


@dataclass(frozen=True)
class Setting:
    """The selection of a study's runs, and their changes."""

    size: Size = "full"
    algorithms: tuple[str, ...] = ()
    """Algorithms that replace the study's; empty keeps the study's."""
    profile: str | None = None
    """Profile that replaces the study's paths."""
    study_hosts: bool = False
    """Whether the hosts are those of the study; otherwise today's."""


def chosen_parts(study: Study, names: Sequence[str], setting: Setting) -> list[str]:
    """Return the parts named, or all of them; raises TussleError with the nearest name for an unknown one.

    A profile replaces the path, so parts that sweep a setting of the path are left out; raises TussleError if
    one of them is named.
    """
    for name in names:
        if name not in study.parts:
            raise TussleError(f"--part: {unknown(f'part of {study.name}', name, study.parts)}")
        if setting.profile and _sweeps_the_path(study.parts[name]):
            raise TussleError(
                f"--profile: {name} sweeps {study.parts[name].sweeps} of the study's path; leave the option "
                "or the part out"
            )
    parts = [name for name, part in study.parts.items() if not (setting.profile and _sweeps_the_path(part))]
    return list(dict.fromkeys(names)) or parts


def _sweeps_the_path(part: Part) -> bool:
    return part.sweeps is not None and part.sweeps.startswith("path.")


def planned(study: Study, part: str, setting: Setting) -> Scenario:
    """Return the scenario of a part under a setting; raises TussleError when they are incompatible."""
    chosen = study.parts[part]
    scenario = study.scenario(part)
    if setting.size == "quick":
        scenario = scenario.with_settings(chosen.quick)
    if setting.study_hosts:
        scenario = scenario.with_settings(_own_hosts(study, chosen.sweeps))
    if setting.profile:
        scenario = _on_profile(scenario, setting.profile)
    if setting.algorithms:
        scenario = _of_algorithms(scenario, chosen, setting.algorithms)
    return scenario


def _own_hosts(study: Study, swept: str | None) -> dict[str, Any]:
    """Return the hosts of a study but for the setting that a part sweeps; raises TussleError if unknown."""
    if study.hosts is None:
        raise TussleError(f"--study-hosts: nothing is known of the hosts of {study.name}; leave it out")
    return {key: value for key, value in study.hosts.settings.items() if key != swept}


def estimate_s(
    runs: Iterable[PlannedRun], engine: str, sent_packets: Mapping[int, float] | None = None
) -> float:
    """Estimate the time of one core for these runs.

    `sent_packets` are those of each run on another engine, by its index. Without them the bottleneck is
    never idle.
    """
    cost = _COSTS[engine]
    return sum(
        cost.start_s
        + each.run["duration_ns"] / 1e9 * cost.simulated_s
        + (_packets(each.run) if sent_packets is None else sent_packets[each.index])
        * _packet_s(each.run, cost)
        for each in runs
    )


def _packet_s(run: Mapping[str, Any], cost: _Cost) -> float:
    carried_s = cost.packet_s + _crossings(run) * cost.crossing_s
    is_limited = any(_has_a_limited_window(run, flow) for flow in run["flows"])
    return carried_s + cost.reading_s if is_limited else carried_s


def _has_a_limited_window(run: Mapping[str, Any], flow: Mapping[str, Any]) -> bool:
    return flow["receive_window_bytes"] is not None or "rmem" in flow.get("receiver", run["hosts"])


def _packets(run: Mapping[str, Any]) -> float:
    """Return the largest number of packets that can leave the bottleneck, in one direction."""
    duration_s = run["duration_ns"] / 1e9
    # Saturated stations of 802.11 take turns with the flows.
    rates = [
        element.get("rate_bit_per_s", 0) / (1 + element.get("stations", 0))
        for element in run["elements"]
        if element["name"] == BOTTLENECK
    ]
    carried = max(rates, default=0) * duration_s / _PACKET_BITS
    written = sum(flow.get("bytes") or math.inf for flow in run["flows"]) * 8 / _PACKET_BITS
    allowed = sum(_window_bit_per_s(run, flow) for flow in run["flows"]) * duration_s / _PACKET_BITS
    return min(carried, written, allowed)


def _window_bit_per_s(run: Mapping[str, Any], flow: Mapping[str, Any]) -> float:
    """Return the highest rate that the window and the buffers of a flow allow on an empty path."""
    delays_ns = {element["name"]: element.get("delay_ns", 0) for element in run["elements"]}
    rtt_ns = sum(delays_ns[name] for name in (*flow["forward"], *flow["reverse"]))
    return min(_windows_bytes(run, flow), default=math.inf) * 8e9 / rtt_ns if rtt_ns else math.inf


def _windows_bytes(run: Mapping[str, Any], flow: Mapping[str, Any]) -> Iterable[float]:
    """Yield what the receive window, the receive buffer and the send buffer of a flow allow in flight."""
    sender, receiver = (flow.get(end, run["hosts"]) for end in ("sender", "receiver"))
    if flow["receive_window_bytes"] is not None:
        yield flow["receive_window_bytes"]
    if "rmem" in receiver:
        yield receiver["rmem"]["max_bytes"] * (1 - 2 ** -receiver["adv_win_scale"])
    if "wmem" in sender:
        yield sender["wmem"]["max_bytes"]


def _crossings(run: Mapping[str, Any]) -> int:
    """Return the largest number of links that a packet crosses to its receiver."""
    links = {element["name"] for element in run["elements"] if "queue" in element}
    return max(len(links.intersection(flow["forward"])) for flow in run["flows"])


def _on_profile(scenario: Scenario, profile: str) -> Scenario:
    """Replace the path by the profile, and remove settings of the path from the cases."""
    tables = scenario.to_dict()
    cases = [
        {key: value for key, value in case.items() if not key.startswith("path.")}
        for case in tables.get("cases", [])
    ]
    return _with_cases({**tables, "path": {"profile": profile}}, cases)


def _of_algorithms(scenario: Scenario, part: Part, names: Sequence[str]) -> Scenario:
    """Replace the study's algorithms."""
    if not part.alike:
        return scenario.with_settings({key: list(names) for key in part.algorithms})
    tables = scenario.to_dict()
    others = [
        {key: value for key, value in case.items() if key not in part.algorithms}
        for case in tables.get("cases", [])
    ]
    unlike = [case for index, case in enumerate(others) if case not in others[:index]] or [{}]
    cases = [case | dict.fromkeys(part.algorithms, name) for case in unlike for name in names]
    return _with_cases(tables, cases)


def _with_cases(tables: dict[str, Any], cases: list[dict[str, Any]]) -> Scenario:
    """Return the scenario with these cases, without duplicates and empty ones."""
    distinct = [case for index, case in enumerate(cases) if case and case not in cases[:index]]
    rest = {key: value for key, value in tables.items() if key != "cases"}
    return Scenario.from_dict({**rest, "cases": distinct} if distinct else rest)
