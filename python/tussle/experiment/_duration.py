"""The default duration of `tussle matrix`."""

import math
from dataclasses import dataclass

from tussle import units
from tussle.errors import argument
from tussle.scenario import Bottleneck, Scenario

_PERIODS = 12
"""Sawtooth periods of a run: CUBIC keeps 0.7 of a difference at each loss; the steady part begins after 4."""
_LEAST_TOGETHER_S = 50
_MOST_S = 7200
_MOST_PACKETS = 10_000_000
"""Packets that the simulator simulates in about a second."""
_PACKET_BITS = 1500 * 8
_STEP_S = 10
_MOST_SAMPLES = 2000
"""Largest number of rows in the time series of a long run; figures cannot show more."""
_DEFAULT_SAMPLES_MS = 100


@dataclass(frozen=True)
class Chosen:
    """The duration of the runs of a comparison."""

    settings: dict[str, str]
    """Keys of the scenario with their values."""
    reason: str
    """One line for the terminal."""


def chosen_duration(pairs: Scenario) -> Chosen:
    """Choose a duration in which flows on this path converge, within ten million packets and two hours.

    Of several paths, the slowest one decides. The scenario's own duration does not matter.
    """
    points = pairs.points()
    bottlenecks = [Bottleneck.of_run(point.resolve(pairs.seed)) for point in points]
    sawtooth_s = max(each.sawtooth_s or 0.0 for each in bottlenecks)
    rate_bit_per_s = max(each.rate_bit_per_s or 0.0 for each in bottlenecks)
    start_s = max(units.time(flow.start) for point in points for flow in point.scenario.flows) / 1e9
    wanted_s = start_s + _PERIODS * sawtooth_s
    most_s = _MOST_PACKETS * _PACKET_BITS / rate_bit_per_s if rate_bit_per_s else math.inf
    duration_s = _rounded_up(max(min(wanted_s, most_s, _MOST_S), start_s + _LEAST_TOGETHER_S))
    reason = (
        f"each run lasts {duration_s} s ({argument('duration')} changes it): flows may need "
        f"{_rounded_up(wanted_s)} s to converge, {_PERIODS} sawtooth periods of "
        f"{float(f'{sawtooth_s:.2g}'):g} s"
    )
    samples_ms = math.ceil(duration_s * 1e3 / _MOST_SAMPLES / _DEFAULT_SAMPLES_MS) * _DEFAULT_SAMPLES_MS
    settings = {"duration": f"{duration_s} s"}
    if samples_ms > _DEFAULT_SAMPLES_MS:
        settings["record.samples"] = f"{samples_ms} ms"
    return Chosen(settings, reason)


def _rounded_up(seconds: float) -> int:
    return math.ceil(round(seconds / _STEP_S, 6)) * _STEP_S
