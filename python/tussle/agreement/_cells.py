"""Cells of a comparison of two engines: drawn over the whole space, not picked.

Six coordinates of a scrambled Sobol sequence (Sobol 1967; scrambled as in Owen 1998) make a cell: rate, round-trip
time, buffer, random loss, arrangement of the flows, algorithm.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple, TypeVar

from tussle.scenario import Scenario

Each = TypeVar("Each")

REPETITIONS = 10
"""Runs of a cell in which dice decide: the start of each flow, and the lost packets."""
_START_JITTER = "1 s"
_STAGGER_S = 10
_LOSSES = ("0 %", "0.01 %", "1 %")
_LONG_UP_TO_BIT_PER_S = 150e6
"""Above that rate runs are shorter by half: they have packets enough, and a kernel takes long for them."""
_MORE_ALONE = 3
"""A flow that is alone runs so many times longer: there is less to do for its packets, and it meets fewer losses."""


class Arrangement(NamedTuple):
    """Who sends in a cell."""

    name: str
    words: str
    flows: tuple[dict[str, Any], ...]
    """Tables of flows; an empty string is in the place of the algorithm that the cell is about."""


_LATER = {"start": f"{_STAGGER_S} s"}
ARRANGEMENTS = (
    Arrangement("one", "one flow", ({"algorithm": ""},)),
    Arrangement("two", "two flows, 10 s apart", ({"algorithm": ""}, {"algorithm": "", **_LATER})),
    Arrangement("joins-reno", "joining reno", ({"algorithm": "reno"}, {"algorithm": "", **_LATER})),
    Arrangement("joins-cubic", "joining cubic", ({"algorithm": "cubic"}, {"algorithm": "", **_LATER})),
    Arrangement("four", "four flows at once", ({"algorithm": "", "count": 4},)),
)


@dataclass(frozen=True)
class Ranges:
    """Where cells are drawn from."""

    rate_bit_per_s: tuple[float, float]
    rtt_s: tuple[float, float]
    buffer_bdp: tuple[float, float]


@dataclass(frozen=True)
class Grid:
    """A draw of cells that everyone can draw again."""

    cells: int
    seed: int
    ranges: Ranges
    shared_s: int
    """How long all flows of a cell send together."""


GRIDS = {
    "quick": Grid(30, 1, Ranges((2e6, 100e6), (1e-3, 0.3), (0.1, 4)), shared_s=10),
    "full": Grid(600, 1, Ranges((2e6, 1e9), (1e-3, 0.3), (0.1, 4)), shared_s=16),
}
"""Every named draw. `quick` has no rates above 100 Mbit/s and shorter runs, so that it takes minutes."""


def scenarios(grid: Grid, algorithms: Sequence[str]) -> dict[str, Scenario]:
    """Return the scenarios that a grid stands for, one for each arrangement that was drawn, by its name.

    Cells with one flow and no loss are in one of their own, `one-without-loss`: nothing is random in them, so each
    is run once.
    """
    from scipy.stats import qmc

    sequence = qmc.Sobol(6, scramble=True, rng=grid.seed)
    drawn = sequence.random_base2(max(1, grid.cells - 1).bit_length())[: grid.cells]
    cases: dict[str, list[dict[str, Any]]] = {}
    for point in drawn.tolist():
        name, case = _cell(point, grid, algorithms)
        cases.setdefault(name, []).append(case)
    return {name: _scenario(name, chosen) for name, chosen in sorted(cases.items())}


def _cell(point: Sequence[float], grid: Grid, algorithms: Sequence[str]) -> tuple[str, dict[str, Any]]:
    rate = _logarithmic(point[0], grid.ranges.rate_bit_per_s)
    rtt_s = _logarithmic(point[1], grid.ranges.rtt_s)
    least, most = grid.ranges.buffer_bdp
    loss = _one_of(_LOSSES, point[3])
    arrangement = _one_of(ARRANGEMENTS, point[4])
    algorithm = _one_of(algorithms, point[5])
    alone = arrangement.name == "one"
    shared_s = grid.shared_s if rate <= _LONG_UP_TO_BIT_PER_S else grid.shared_s // 2
    staggered = any("start" in flow for flow in arrangement.flows)
    duration_s = _MORE_ALONE * shared_s if alone else shared_s + _STAGGER_S * staggered
    case = {
        "path.rate": f"{rate / 1e6:.3g} Mbit/s",
        "path.rtt": f"{rtt_s * 1e3:.3g} ms",
        "path.queue.limit": f"{least + point[2] * (most - least):.3g} bdp",
        "path.loss": loss,
        "duration": f"{duration_s} s",
    }
    under_test = (index for index, flow in enumerate(arrangement.flows) if not flow["algorithm"])
    case |= {f"flows.{index}.algorithm": algorithm for index in under_test}
    return ("one-without-loss" if alone and loss == "0 %" else arrangement.name), case


def _scenario(name: str, cases: Sequence[dict[str, Any]]) -> Scenario:
    arrangement = next(each for each in ARRANGEMENTS if name.startswith(each.name))
    return Scenario.from_dict(
        {
            "question": f"Do simulator and kernel agree on {arrangement.words}?",
            "duration": "60 s",
            "repetitions": 1 if name == "one-without-loss" else REPETITIONS,
            "start_jitter": _START_JITTER,
            "record": {"samples": "100 ms", "events": "on"},
            "path": {},
            "flows": [{"algorithm": "reno", **_given(flow)} for flow in arrangement.flows],
            "cases": list(cases),
        }
    )


def _given(flow: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in flow.items() if value}


def _logarithmic(part: float, between: tuple[float, float]) -> float:
    least, most = between
    return least * (most / least) ** part


def _one_of(choices: Sequence[Each], part: float) -> Each:
    return choices[int(part * len(choices))]
