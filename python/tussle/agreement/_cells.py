"""Cells of a comparison of two engines, sampled over the whole space.

Six coordinates of a scrambled Sobol sequence (Owen, Journal of Complexity 14, 1998) make a cell: rate,
round-trip time, buffer, random loss, arrangement of the flows, algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, Literal, NamedTuple, TypeVar

from tussle.scenario import Scenario

T = TypeVar("T")

REPETITIONS = 10
"""Runs of a cell with randomness, in the start of each flow and in the lost packets. Both engines use the
same random numbers."""
_START_JITTER = "1 s"
_STAGGER_S = 10
_LOSSES = ("0 %", "0.01 %", "1 %")
_LONG_UP_TO_BIT_PER_S = 60e6
"""Rate above which runs are shorter, so that the link carries no more packets: Linux takes long for them."""
_LEAST_SHARED_S = 5
_MORE_ALONE = 2
"""Factor of the duration of a single flow, which has only its own losses."""


class Arrangement(NamedTuple):
    """The flows of a cell."""

    name: str
    words: str
    others: tuple[str, ...] = ()
    """Algorithms of the flows that start first."""
    together: int = 1
    """Number of flows of the cell's algorithm that start with them."""
    joins: Literal["never", "staggered", "soon"] = "never"
    """Whether the last flow starts later: by 10 s, or by the time in which all send, if that is less."""


ARRANGEMENTS = (
    Arrangement("one", "one flow"),
    Arrangement("two", "two flows, 10 s apart", joins="staggered"),
    Arrangement("joins-reno", "joining reno", others=("reno",), joins="soon"),
    Arrangement("joins-cubic", "joining cubic", others=("cubic",), joins="soon"),
    Arrangement("four", "four flows at once", together=4),
)
ONE_WITHOUT_LOSS = "one-without-loss"
"""Cells with one flow and without randomness, which run once."""


@dataclass(frozen=True)
class Ranges:
    """Ranges that cells are sampled from."""

    rate_bit_per_s: tuple[float, float]
    rtt_s: tuple[float, float]
    buffer_bdp: tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """A reproducible sample of cells."""

    cells: int
    seed: int
    ranges: Ranges
    shared_s: float
    """Longest time in which all flows of a cell send."""


GRIDS = {
    "quick": Grid(32, 1, Ranges((2e6, 100e6), (1e-3, 0.3), (0.1, 4)), shared_s=10),
    "full": Grid(512, 1, Ranges((2e6, 1e9), (1e-3, 0.3), (0.1, 4)), shared_s=15),
}
"""Every named sample. Sizes are powers of two, for which a Sobol sequence is balanced in each coordinate.
`quick` has no rates above 100 Mbit/s and shorter runs, so that it takes minutes."""


HOSTS: tuple[dict[str, Any], ...] = (
    {"sack": False},
    {"dsack": False},
    {"recovery": "rfc6675"},
    {"tlp": False},
    {"frto": False},
    {"initial_cwnd": 3},
    {"initial_ssthresh": 20},
    {"growth": "ack"},
    {"slow_start_after_idle": False},
    {"timestamps": "off"},
    {"rmem": "4096 131072 6291456", "wmem": "4096 16384 4194304"},
    {"rmem": "4096 131072 6291456", "moderate_rcvbuf": False},
    {"rmem": "4096 131072 6291456", "adv_win_scale": 2},
    {"receive_window": "64 KiB"},
    {"initial_rwnd": 10},
    {"quickack": True},
    {"metrics_save": True},
    {"pacing": True},
    {"qdisc": "fq"},
    {"qdisc": "fq", "limit_output": "16 KiB"},
    {"offloads": True},
    {"noise": "20 us"},
    {"bus": "200 Mbit/s", "ring": 64},
    {"bus": "200 Mbit/s", "netdev_max_backlog": 64},
)
"""Settings of hosts that Linux has and that matter on these paths, each in place of its default."""


def scenarios(grid: Grid, algorithms: Sequence[str]) -> dict[str, Scenario]:
    """Return the scenarios of a grid, by the name of their arrangement or `ONE_WITHOUT_LOSS`."""
    from scipy.stats import qmc

    sequence = qmc.Sobol(6, scramble=True, rng=grid.seed)
    sampled = sequence.random_base2(max(1, grid.cells - 1).bit_length())[: grid.cells]
    cases: dict[str, list[dict[str, Any]]] = {}
    for point in sampled.tolist():
        arrangement = _one_of(ARRANGEMENTS, point[4])
        case = _case(point, grid, arrangement) | _algorithms(arrangement, _one_of(algorithms, point[5]))
        is_certain = arrangement.name == "one" and case["path.loss"] == "0 %"
        cases.setdefault(ONE_WITHOUT_LOSS if is_certain else arrangement.name, []).append(case)
    return {name: _scenario(name, chosen) for name, chosen in sorted(cases.items())}


def arrangement_of(name: str) -> Arrangement:
    """Return the arrangement of a scenario."""
    wanted = "one" if name == ONE_WITHOUT_LOSS else name
    return next(each for each in ARRANGEMENTS if each.name == wanted)


def _case(point: Sequence[float], grid: Grid, arrangement: Arrangement) -> dict[str, Any]:
    rate = _logarithmic(point[0], grid.ranges.rate_bit_per_s)
    rtt_s = _logarithmic(point[1], grid.ranges.rtt_s)
    least, most = grid.ranges.buffer_bdp
    shared_s = min(grid.shared_s, max(_LEAST_SHARED_S, grid.shared_s * _LONG_UP_TO_BIT_PER_S / rate))
    later_s = {"never": 0, "staggered": _STAGGER_S, "soon": min(shared_s, _STAGGER_S)}[arrangement.joins]
    duration_s = _MORE_ALONE * shared_s if arrangement.name == "one" else shared_s + later_s
    case = {
        "path.rate": f"{rate / 1e6:.3g} Mbit/s",
        "path.rtt": f"{rtt_s * 1e3:.3g} ms",
        "path.queue.limit": f"{least + point[2] * (most - least):.3g} bdp",
        "path.loss": _one_of(_LOSSES, point[3]),
        "duration": f"{duration_s:.3g} s",
    }
    return case | ({"flows.1.start": f"{later_s:.3g} s"} if arrangement.joins == "soon" else {})


def _algorithms(arrangement: Arrangement, algorithm: str) -> dict[str, str]:
    tables = len(_flows(arrangement))
    return {f"flows.{index}.algorithm": algorithm for index in range(len(arrangement.others), tables)}


def _flows(arrangement: Arrangement) -> list[dict[str, Any]]:
    """Return the tables of flows; cases replace the algorithm of those that are not `others`."""
    first = [{"algorithm": name} for name in arrangement.others] or [
        {"algorithm": "reno", "count": arrangement.together}
    ]
    later = {"staggered": f"{_STAGGER_S} s", "soon": "0 s"}
    if arrangement.joins == "never":
        return first
    return [*first, {"algorithm": "reno", "start": later[arrangement.joins]}]


def _scenario(name: str, cases: Sequence[dict[str, Any]]) -> Scenario:
    arrangement = arrangement_of(name)
    return Scenario.from_dict(
        {
            "question": f"Do simulator and kernel agree on {arrangement.words}?",
            "duration": "60 s",
            "repetitions": 1 if name == ONE_WITHOUT_LOSS else REPETITIONS,
            "start_jitter": _START_JITTER,
            "record": {"samples": "100 ms", "events": True},
            "path": {},
            # With random offsets of timestamps LP behaves like Reno, which has cells of its own.
            "hosts": {"timestamps": "synchronised"},
            "flows": _flows(arrangement),
            "cases": list(cases),
        }
    )


def _logarithmic(part: float, between: tuple[float, float]) -> float:
    least, most = between
    return least * (most / least) ** part


def _one_of(choices: Sequence[T], part: float) -> T:
    return choices[int(part * len(choices))]
