"""Conversion of a scenario without axes to the run that an engine receives, in SI units and without defaults.

The network is a dumbbell, or a chain of bottlenecks. The forward path is a flow's access link, random loss,
elements, the bottleneck, elements, further bottlenecks and the receiver's access link. The reverse path has
the corresponding parts in the opposite order. The format of a run is in crates/tussle-core/src/run/mod.rs.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator
from fractions import Fraction
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from tussle import units
from tussle.catalog import catalog
from tussle.errors import shown, unknown
from tussle.host_profiles import DEFAULT_PROFILE
from tussle.own_algorithms import is_own
from tussle.run_checks import run_checks
from tussle.scenario.applications import (
    application_problems,
    misplaced_application_settings,
)
from tussle.scenario.arrivals import arrival_problems, arrivals_ns
from tussle.scenario.axes import MOST_RUNS, combinations, combinations_count
from tussle.scenario.chain import chain_problems, further_elements, span_problems, ways
from tussle.scenario.distributions import size_distribution
from tussle.scenario.elements import misplaced_element_settings
from tussle.scenario.fields import UDP
from tussle.scenario.host_elements import bus_problems, end_elements, router_buses
from tussle.scenario.hosts import (
    Hosts,
    device_rate_in_run,
    ends_in_run,
    host_in_run,
    host_problems,
    hystart_in_run,
    queue_problems,
    settings_of_end,
    window_problems,
)
from tussle.scenario.network import (
    access_elements,
    change_problems,
    complete_path,
    path_elements,
    path_problems,
)
from tussle.scenario.problems import Problem
from tussle.scenario.queues import misplaced_queue_settings
from tussle.scenario.sampling import random_bits, sample
from tussle.scenario.segments import header_bytes, segment_bytes
from tussle.scenario.tables import Flow

if TYPE_CHECKING:
    from tussle.scenario.model import Scenario

_FORMAT = 1
_TCP = "linux-6.1"
_MOST_FLOWS = 10_000
_MOST_SEGMENTS = 4_000_000_000
"""The sender numbers its packets in 32 bits."""
_UNSETTLED = 3
"""The default steady interval leaves out the first third of the time that the flows share."""


class Sender(NamedTuple):
    """One of a flow table's `count` flows."""

    where: str
    """The key of its table."""
    name: str
    flow: Flow
    start_ns: int
    """The start time, without the jitter of the scenario."""


class _Span(NamedTuple):
    from_ns: int
    to_ns: int


def seed_of(scenario_seed: int, repetition: int) -> int:
    """Return a repetition's seed: the same at every point, so that points can be compared pair by pair."""
    return random_bits(f"{scenario_seed}/repetition/{repetition}")


def problems_between_fields(scenario: Scenario) -> list[Problem]:
    """Check combinations of fields, for every combination of the axes."""
    runs = combinations_count(scenario) * (scenario.repetitions or 1)
    if runs > MOST_RUNS:
        return [
            Problem(
                "", f"its axes and repetitions make {runs} runs; shorten a list (at most {MOST_RUNS} runs)"
            )
        ]
    flows = sum(max(flow.count) if isinstance(flow.count, tuple) else flow.count for flow in scenario.flows)
    if flows > _MOST_FLOWS:
        return [Problem("flows", f"{flows} flows; give at most {_MOST_FLOWS}")]
    misplaced = [*misplaced_queue_settings(scenario.path), *misplaced_element_settings(scenario.path)]
    misplaced += misplaced_application_settings(scenario.flows)
    if misplaced:
        return misplaced
    points = (point for _, point in combinations(scenario))
    return list(dict.fromkeys(problem for point in points for problem in _problems(point)))


_IN_THE_SCENARIO = {"record.sampling.every_ns": "record.samples"}
"""Keys of a run that have another name in a scenario."""


def resolve(scenario: Scenario, seed: int) -> dict[str, Any]:
    """Return the run of a scenario that has no axes; `seed` decides its random numbers."""
    path = complete_path(scenario.path)
    links = [path_elements(path), *further_elements(path)]
    buses = router_buses(path)
    elements, flows = [*(element for link in links for way in link for element in way), *buses], []
    for index, sender in enumerate(senders_of(scenario, seed)):
        access, access_reverse = access_elements(sender.flow.access, f"{sender.name}-access")
        receiver, receiver_reverse = access_elements(sender.flow.receiver_access, f"{sender.name}-receiver")
        ends = end_elements(scenario.hosts, sender.flow, sender.name)
        elements += [
            *ends.sender,
            *access,
            *receiver,
            *receiver_reverse,
            *access_reverse,
            *ends.receiver,
        ]
        forward, reverse = ways(links, buses, sender.flow)
        flows.append(
            _flow(sender, f"{seed}/bytes/{index}", segment_bytes(scenario.hosts, sender.flow))
            | _hosts(scenario.hosts, sender.flow)
            | _pair(scenario, sender)
            | {
                "start_ns": sender.start_ns + _jitter_ns(scenario, f"{seed}/start/{index}"),
                "forward": _names([*ends.sender, *access, *forward, *receiver, *ends.receiver[::-1]]),
                "reverse": _names(
                    [*ends.receiver, *receiver_reverse, *reverse, *access_reverse, *ends.sender[::-1]]
                ),
            }
        )
    return {
        "format": _FORMAT,
        "profile": _TCP,
        "seed": seed,
        "duration_ns": units.time(scenario.duration),
        "steady": _steady(scenario)._asdict(),
        "record": {"sampling": _sampling(scenario.record.samples), "events": scenario.record.events},
        "hosts": host_in_run(scenario.hosts.settings()),
        "elements": elements,
        "flows": flows,
    }


def _problems(scenario: Scenario) -> list[Problem]:
    """Check a scenario without axes, then the run that it describes."""
    found = list(_point_problems(scenario))
    if not found:
        try:
            run_checks().check(resolve(scenario, seed=0))
        except ValueError as error:
            where, _, what = str(error).partition(": ")
            return [Problem(_IN_THE_SCENARIO.get(where, where), what)]
    return found


def _point_problems(scenario: Scenario) -> Iterator[Problem]:
    hosts = scenario.hosts
    packet_bytes = max(header_bytes(hosts, flow) + segment_bytes(hosts, flow) for flow in scenario.flows)
    path = complete_path(scenario.path)
    yield from list(path_problems(path, packet_bytes)) or chain_problems(path, packet_bytes)
    yield from change_problems(path, scenario.duration)
    timing = [
        problem for index in range(len(scenario.flows)) for problem in _timing_problems(scenario, index)
    ]
    yield from timing or _steady_problems(scenario)
    yield from host_problems(hosts, DEFAULT_PROFILE, hosts.settings(), "hosts")
    for index, flow in enumerate(scenario.flows):
        for end in ("sender", "receiver"):
            if host := getattr(flow, end):
                below = str(hosts.profile or DEFAULT_PROFILE)
                settings = settings_of_end(hosts, host)
                yield from host_problems(host, below, settings, f"flows.{index}.{end}")
        if flow.algorithm == UDP:
            yield from queue_problems(hosts, flow.sender, index, flow.access.rate)
        yield from window_problems(hosts, flow.receiver, index, segment_bytes(hosts, flow))
        yield from _parameter_problems(flow, f"flows.{index}.parameters")
        yield from _size_problems(flow, f"flows.{index}", segment_bytes(hosts, flow))
        yield from application_problems(flow, f"flows.{index}")
        yield from span_problems(flow, path, f"flows.{index}")
        yield from bus_problems(flow, path, f"flows.{index}")
    arriving = [
        problem
        for index, flow in enumerate(scenario.flows)
        for problem in arrival_problems(flow, scenario, f"flows.{index}")
    ]
    yield from arriving
    senders = [] if arriving else senders_of(scenario, seed=0)
    times = Counter(sender.name for sender in senders)
    for sender in senders:
        if times[sender.name] > 1:
            yield Problem(
                f"{sender.where}.name", f'two flows are called "{sender.name}"; give each its own name'
            )


def _timing_problems(scenario: Scenario, index: int) -> Iterator[Problem]:
    flow, duration = scenario.flows[index], scenario.duration
    latest_ns = units.time(flow.start) + units.time(scenario.start_jitter)
    start = (
        flow.start
        if not units.time(scenario.start_jitter)
        else f"{flow.start} (and up to {scenario.start_jitter} of jitter)"
    )
    if latest_ns >= units.time(duration):
        yield Problem(f"flows.{index}.start", f"{start} is not before the end of the run at {duration}")
    if flow.stop is not None and units.time(flow.stop) <= latest_ns:
        yield Problem(f"flows.{index}.stop", f"{flow.stop} is not after the start at {start}")


def _steady_problems(scenario: Scenario) -> Iterator[Problem]:
    steady, duration_ns = _steady(scenario), units.time(scenario.duration)
    if steady.to_ns > duration_ns:
        yield Problem("steady.to", f"{scenario.steady.to} is after the end of the run at {scenario.duration}")
    elif steady.from_ns >= steady.to_ns:
        end = scenario.steady.to or f"{Fraction(steady.to_ns, 10**9)} s"
        yield Problem("steady.from", f"{scenario.steady.from_} is not before the interval's end at {end}")


def _size_problems(flow: Flow, where: str, full_bytes: int) -> Iterator[Problem]:
    if flow.bytes is not None and size_distribution(flow.bytes).least() > _MOST_SEGMENTS * full_bytes:
        what = f"{flow.bytes} is too large; give at most {_MOST_SEGMENTS} segments of {full_bytes} B"
        yield Problem(f"{where}.bytes", what)


def _parameter_problems(flow: Flow, where: str) -> Iterator[Problem]:
    algorithm = str(flow.algorithm)
    if is_own(algorithm) or algorithm == UDP:
        return  # the file of its class checks its parameters, and the simulator those of udp
    declared = {each["name"]: each for each in catalog().algorithms[algorithm]["parameters"]}
    for name, value in flow.parameters.items():
        if name not in declared:
            what = (
                unknown("parameter", name, declared)
                if declared
                else f"{algorithm} has no parameters; remove {name if name.isprintable() else shown(name)}"
            )
            yield Problem(where, what)
        elif not declared[name]["min"] <= value <= declared[name]["max"]:
            least, most = declared[name]["min"], declared[name]["max"]
            yield Problem(f"{where}.{name}", f"{value}; {algorithm} takes {least} to {most}")


def senders_of(scenario: Scenario, seed: int) -> list[Sender]:
    """Return every flow of every table, with its name; `seed` decides when flows arrive."""
    senders: list[Sender] = []
    for index, flow in enumerate(scenario.flows):
        where = f"flows.{index}"
        if flow.arrivals is None:
            starts_ns = (units.time(flow.start),) * cast("int", flow.count)
        else:
            starts_ns = arrivals_ns(flow, units.time(scenario.duration), f"{seed}/{where}")
        is_alone = flow.arrivals is None and flow.count == 1
        for number, start_ns in enumerate(starts_ns):
            given = flow.name if is_alone else f"{flow.name}-{number}"
            name = given if flow.name else f"flow-{len(senders)}"
            senders.append(Sender(where, str(name), flow, start_ns))
    return senders


def _steady(scenario: Scenario) -> _Span:
    """Return the steady interval: as given, else the time that the flows share without its first third."""
    flows, end_ns = scenario.flows, units.time(scenario.duration)
    last_start_ns = max(units.time(flow.start) for flow in flows) + units.time(scenario.start_jitter)
    first_stop_ns = min([end_ns, *(units.time(flow.stop) for flow in flows if flow.stop is not None)])
    if first_stop_ns <= last_start_ns:  # one flow stops before another starts: they share no time
        last_start_ns, first_stop_ns = 0, end_ns
    given = scenario.steady
    to_ns = units.time(given.to) if given.to is not None else first_stop_ns
    unsettled_ns = (first_stop_ns - last_start_ns) // _UNSETTLED
    return _Span(units.time(given.from_) if given.from_ is not None else last_start_ns + unsettled_ns, to_ns)


def _flow(sender: Sender, label: str, mss_bytes: int) -> dict[str, Any]:
    """Return a flow of a run without its elements; `label` is the label of its random size."""
    flow = sender.flow
    stop = None if flow.arrivals is not None else flow.stop
    size_bytes = None
    if flow.bytes is not None:
        most_bytes = _MOST_SEGMENTS * mss_bytes
        size_bytes = min(max(1, sample(size_distribution(flow.bytes), label)), most_bytes)
    return {
        "name": sender.name,
        "algorithm": flow.algorithm,
        "stop_ns": None if stop is None else units.time(stop),
        "bytes": size_bytes,
        "mss_bytes": mss_bytes,
    } | ({"application": flow.application.in_run()} if flow.application else {})


def _hosts(hosts: Hosts, flow: Flow) -> dict[str, Any]:
    """Return what the hosts of a flow add to it: hosts of its own, and settings that a run has in flows."""
    sender, receiver = (settings_of_end(hosts, end) for end in (flow.sender, flow.receiver))
    window = receiver.get("receive_window")
    return {
        "parameters": hystart_in_run(str(flow.algorithm), sender) | dict(flow.parameters),
        "ecn": sender["ecn"] and flow.algorithm != UDP,
        "pacing": sender["pacing"] and flow.algorithm != UDP,
        "receive_window_bytes": None if window is None else units.size(window),
        **({} if flow.algorithm == UDP else device_rate_in_run(flow.access.rate, sender)),
    } | ends_in_run(hosts, {"sender": flow.sender, "receiver": flow.receiver})


def _pair(scenario: Scenario, sender: Sender) -> dict[str, int]:
    """Return the pair of hosts of a flow whose sender keeps what it learns for other flows of its table."""
    flow = sender.flow
    keeps = settings_of_end(scenario.hosts, flow.sender)["metrics_save"]
    is_alone = flow.algorithm == UDP or (flow.arrivals is None and flow.count == 1)
    return {"pair": int(sender.where.removeprefix("flows."))} if keeps and not is_alone else {}


def _jitter_ns(scenario: Scenario, label: str) -> int:
    most_ns = units.time(scenario.start_jitter)
    return random_bits(label) % most_ns if most_ns else 0


def _sampling(samples: str) -> str | dict[str, int]:
    return samples if samples in ("off", "change") else {"every_ns": units.time(samples)}


def _names(elements: list[dict[str, Any]]) -> list[str]:
    return [element["name"] for element in elements]
