"""The same packets at the same times, through Linux's disciplines and through the simulator's."""

import json
from pathlib import Path
from random import Random
from statistics import mean
from typing import Any, NamedTuple

import pytest

from tussle.kernel import guest
from tussle.kernel.guest import UserMode, boot_words

pytestmark = pytest.mark.usefixtures("kernel")

_MS = 1_000_000
_S = 1000 * _MS
RATE_BIT_PER_S = 8_000_000
FULL_BYTES = 1500
PACKET_NS = FULL_BYTES * 8 * _S // RATE_BIT_PER_S
"""1.5 ms."""
FLOWS = 3
Arrival = tuple[int, int, int]


class Passed(NamedTuple):
    """What became of the packets that one link was offered."""

    left_ns: list[int | None]
    """When each left; None: it was dropped."""
    sojourn_ms: float
    """Of those that left, in the mean, with the transmission."""

    @property
    def dropped(self) -> set[int]:
        return {number for number, left in enumerate(self.left_ns) if left is None}


def poisson(phases: list[tuple[float, int]], seed: int) -> list[Arrival]:
    """Full packets of three flows at random, for each (load, seconds) in turn: when, size and flow."""
    rng = Random(seed)  # noqa: S311
    arrivals: list[Arrival] = []
    begins_ns = 0
    for load, seconds in phases:
        at_ns = begins_ns
        begins_ns += seconds * _S
        while (at_ns := at_ns + max(1, round(rng.expovariate(load / PACKET_NS)))) < begins_ns:
            arrivals.append((at_ns, FULL_BYTES, rng.randrange(FLOWS)))
    return arrivals


def passed(queue: dict[str, Any], arrivals: list[Arrival], folder: Path) -> tuple[Passed, Passed]:
    """Offer packets to a link of Linux with that queue, and to the simulator's."""
    link = {"kind": "link", "rate_bit_per_s": RATE_BIT_PER_S, "delay_ns": 0, "queue": queue}
    wire = {"kind": "delay", "delay_ns": _MS}
    flow = {"algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, "forward": ["link"], "reverse": ["back"]}
    # All that waits has left by then.
    until_ns = arrivals[-1][0] + 5 * _S
    run = {
        "format": 1,
        "profile": "linux-6.1",
        "seed": 3,
        "duration_ns": until_ns,
        "steady": {"from_ns": 0, "to_ns": until_ns},
        "record": {"sampling": "off", "events": False},
        "elements": [{"name": "link", **link}, {"name": "back", **wire}],
        "flows": [{"name": f"flow-{index}", **flow} for index in range(FLOWS)],
    }
    task = guest._Task("arrivals.json", json.dumps([run, arrivals]), boot_words(run, "qdisc"), 300.0)
    UserMode()._carry_out(task, folder)
    recorded = json.loads((folder / "departures.json").read_text("utf-8"))

    def of(departures: list[tuple[int, bool] | None]) -> Passed:
        left = [None if departure is None else departure[0] for departure in departures]
        waits = [at - arrival[0] for at, arrival in zip(left, arrivals, strict=True) if at is not None]
        return Passed(left, mean(waits) / _MS)

    return of(recorded["linux"]), of(recorded["simulator"])


OVERLOAD = poisson([(1.3, 6), (0.7, 6)], seed=1)
"""A link that has to drop almost a quarter for six seconds, and has room to spare for another six."""

CREDIT_NS = 1_000
"""An idle shaper of Linux has credit for a microsecond (crates/tussle-agent, `LATE_NS`)."""

TIMERS_NS = 2 * CREDIT_NS
"""Largest difference between two departures of one packet: 1004 to 1981 ns were measured."""


@pytest.mark.parametrize("limit", [{"limit_packets": 20}, {"limit_bytes": 20 * FULL_BYTES}])
def test_a_fifo_drops_the_same_packets_and_lets_the_others_go_at_the_same_times(
    limit: dict[str, int], tmp_path: Path
):
    linux, simulated = passed({"kind": "fifo", **limit}, OVERLOAD, tmp_path)
    assert len(simulated.dropped) > 1000
    # A packet that arrives within the credit of a departure finds room with one of the two; the next that
    # arrives at a full queue makes up for it.
    different = sorted(linux.dropped ^ simulated.dropped)
    assert len(different) in (0, 2)
    departures = [left for left in simulated.left_ns if left is not None]
    for first in different[:1]:
        assert min(abs(left - OVERLOAD[first][0]) for left in departures) <= CREDIT_NS
    both = zip(linux.left_ns, simulated.left_ns, strict=True)
    assert (
        max(abs(theirs - ours) for theirs, ours in both if theirs is not None and ours is not None)
        < TIMERS_NS
    )


class Bound(NamedTuple):
    """How far Linux and the simulator may be apart, as shares of the simulator's."""

    sojourn: float
    drops: float


BOUNDS = {
    # Which flow has its turn first follows from a hash; the sums do not.
    "sfq": Bound(0.005, 0.0),
    # COBALT uses no random numbers while nobody overflows it; its own shaper looks when the link is free.
    "cake": Bound(0.01, 0.01),
    # Linux's root of the count is a Newton step, so that the second hit of an episode comes 21 ms early.
    "codel": Bound(0.03, 0.01),
    "fq_codel": Bound(0.15, 0.02),
    # Packets come to RED when the shaper looks for one (docs/deviations/kernel.toml): it does not see those
    # of the last packet's time, 1.3 in the overload and half as many in the mean, 1 of 16 ms. Its random
    # numbers differ: 1500 drops deviate by 39, which are 3 %.
    "red": Bound(0.10, 0.10),
    # The wait that PIE sees is a packet's time short, 1.5 of 15 ms, and its random numbers differ. More was
    # measured, with five lists of arrivals 13 to 24 %, most of it in the first two seconds.
    "pie": Bound(0.30, 0.05),
    "fq_pie": Bound(0.35, 0.05),
}
SETTINGS: dict[str, dict[str, Any]] = {
    "red": {"min_packets": 5.0, "max_packets": 15.0, "limit_packets": 60},
    # Linux updates at ticks of 4 ms: 15 are 16.
    "pie": {"update_ns": 16 * _MS},
    "fq_pie": {"update_ns": 16 * _MS},
    "codel": {"limit_packets": 1000},
}


@pytest.mark.parametrize("kind", BOUNDS)
def test_a_discipline_of_linux_delays_and_drops_as_ours(kind: str, tmp_path: Path):
    linux, simulated = passed({"kind": kind, **SETTINGS.get(kind, {})}, OVERLOAD, tmp_path)
    assert len(simulated.dropped) > 1000
    assert linux.sojourn_ms == pytest.approx(simulated.sojourn_ms, rel=BOUNDS[kind].sojourn)
    assert len(linux.dropped) == pytest.approx(len(simulated.dropped), rel=BOUNDS[kind].drops)
