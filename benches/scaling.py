"""How the cost of a packet grows with the elements that it crosses, with the flows, and with the window."""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from statistics import median

from cases import ONE_IN_A_HUNDRED, PACKET_BYTES, Case
from engines import TUSSLE
from instructions import counts_of
from measure import Job, measure

COUNTED_PACKETS = 100_000
TIMED_PACKETS = 2_000_000
RTT_S = 0.1
START_RTTS = 20
MBIT = 1_000_000


@dataclass(frozen=True)
class Series:
    """Cases that differ in one size."""

    about: str
    unit: str
    cases: dict[int, Case]
    cost: str = "a packet"
    """What is reported: the cost of a packet, or the increase of that cost for each further unit of size."""

    def of(self, costs: dict[int, float]) -> dict[int, float]:
        """Convert costs of packets, by size, to the cost that the series reports."""
        if self.cost == "a packet" or not costs:
            return costs
        [(first, first_cost), *others] = costs.items()
        return {size: (cost - first_cost) / (size - first) for size, cost in others}


def series() -> list[Series]:
    """Return all series that are measured."""
    windows = (100, 1_000, 10_000, 100_000)
    return [
        Series(
            "links in a row", "links", {hops: _hops(hops) for hops in (1, 2, 4, 8, 16)}, "each further link"
        ),
        Series("flows of 10 Mbit/s", "flows", {flows: _flows(flows) for flows in (1, 10, 100, 1000)}),
        Series("a window, nothing lost", "packets in flight", {size: _window(size) for size in windows}),
        Series("a window, 1 % lost", "packets in flight", {size: _lossy(size) for size in windows}),
        Series(
            "a window, a tenth lost at once", "packets in flight", {size: _burst(size) for size in windows}
        ),
    ]


def rows(rounds: int) -> list[dict[str, object]]:
    """Measure every case: instructions once, time in each round; return medians of time."""
    every = series()
    cases = [case for each in every for case in each.cases.values()]
    counts = counts_of(cases)
    times_ns: dict[str, list[float]] = {case.name: [] for case in cases}
    for _ in range(rounds):
        for case in cases:
            times_ns[case.name].append(_time_ns(case))
    found: list[dict[str, object]] = []
    for each in every:
        counted = each.of(
            {size: counts[case.name].per_packet for size, case in each.cases.items() if case.name in counts}
        )
        timed_ns = each.of({size: median(times_ns[case.name]) for size, case in each.cases.items()})
        found.extend(
            {
                "about": each.about,
                "size": f"{size:,} {each.unit}",
                "cost": each.cost,
                "instructions": counted.get(size),
                "time_ns": timed_ns[size],
            }
            for size in timed_ns
        )
    return found


def _time_ns(case: Case) -> float:
    """Measure the processor time per packet of the case, lengthened to `TIMED_PACKETS`."""
    longer_s = TIMED_PACKETS * PACKET_BYTES * 8 / case.rate_bit_per_s
    timed = case.lasting(max(case.duration_s, longer_s))
    return 1e9 / measure(Job(TUSSLE.find(), timed.run_json())).packets_per_cpu_s


def _hops(hops: int) -> Case:
    case = Case(f"{hops} links", 1, 200 * MBIT, RTT_S, 0, start_packets=50_000, hops=hops)
    return _counted(case)


def _flows(flows: int) -> Case:
    """Flows of 10 Mbit/s; all start within half a second, and counting begins about a second later."""
    start_packets = max(50_000, 1_000 * flows)
    case = Case(f"{flows} flows", flows, flows * 10 * MBIT, RTT_S, 0, 0.5 / flows, start_packets)
    return _counted(case)


def _window(packets: int) -> Case:
    """Return a flow whose receive window is one BDP: no queueing, no loss."""
    rate_bit_per_s = round(packets * PACKET_BYTES * 8 / RTT_S)
    case = Case(f"window of {packets}", 1, rate_bit_per_s, RTT_S, 0, start_packets=START_RTTS * packets)
    return _counted(replace(case, algorithm="reno", receive_window_packets=packets))


def _lossy(packets: int) -> Case:
    """Return a flow of BBR, which keeps its window despite 1 % loss."""
    case = replace(_window(packets), name=f"window of {packets}, 1 % lost", losses=ONE_IN_A_HUNDRED)
    return replace(case, algorithm="bbr", receive_window_packets=None)


def _burst(packets: int) -> Case:
    """Return a flow of CUBIC that loses a tenth of its window at once; the run ends five RTTs later."""
    start = START_RTTS * packets
    lost = list(range(start + 100, start + 100 + packets // 10))
    slow_start_s = RTT_S * math.log2(packets / 10)
    return replace(
        _window(packets),
        name=f"window of {packets}, burst",
        algorithm="cubic",
        receive_window_packets=None,
        duration_s=(START_RTTS + 5) * RTT_S + slow_start_s,
        losses={"kind": "loss_list", "packets": lost},
    )


def _counted(case: Case) -> Case:
    """Lengthen a case until `COUNTED_PACKETS` and at least three BDP are counted after its start."""
    packets = case.start_packets + max(COUNTED_PACKETS, 3 * case.buffer_packets)
    begun_s = 0.5 + RTT_S * math.log2(max(2, case.buffer_packets / case.flows / 10))
    return case.lasting(begun_s + packets * PACKET_BYTES * 8 / case.rate_bit_per_s)
