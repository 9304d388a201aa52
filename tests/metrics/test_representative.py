"""The representative run of a point, in a case computed by hand."""

import pytest

from plausible import by_hand, flow_row, run_row
from tussle.metrics import REGISTRY

METRIC = REGISTRY["representative"]


def runs(*vectors: tuple[float, float, int]):
    names = ("goodput_bit_per_s", "rtt_mean_ms", "steady_timeouts")
    return by_hand(
        runs=[run_row(run, point=0, repetition=run) for run in range(len(vectors))],
        flows=[
            flow_row(run, 0, **dict(zip(names, vector, strict=True))) for run, vector in enumerate(vectors)
        ],
    )


def test_the_distance_of_a_run_is_that_of_its_vector_from_the_mean():
    """The averages are 2e6 bit/s, 400 ms and 2 timeouts; the first run is off by half of each."""
    found = METRIC.compute(runs((1e6, 200, 1), (2e6, 400, 2), (3e6, 600, 3)))["distance"].to_list()
    assert found == pytest.approx([0.75**0.5, 0, 0.75**0.5])


def test_runs_without_timeouts_are_compared_by_the_other_quantities():
    assert METRIC.compute(runs((1e6, 400, 0), (3e6, 400, 0)))["distance"].to_list() == [0.5, 0.5]


def test_a_flow_without_rtt_has_no_distance():
    found = METRIC.compute(runs((1e6, 400, 0), (1e6, None, 0)))  # pyright: ignore[reportArgumentType]
    assert found["distance"].to_list() == [0, None]
