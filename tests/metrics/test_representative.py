"""The run that stands for its repetitions, on a case worked by hand."""

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


def test_a_run_is_as_far_as_its_vector_from_the_mean_of_all():
    """Averages: 2e6 bit/s, 400 ms, 2 timeouts. The first is off by a half in each, the second by none."""
    found = METRIC.compute(runs((1e6, 200, 1), (2e6, 400, 2), (3e6, 600, 3)))["distance"].to_list()
    assert found == pytest.approx([0.75**0.5, 0, 0.75**0.5])


def test_runs_without_any_timeout_differ_by_the_rest():
    assert METRIC.compute(runs((1e6, 400, 0), (3e6, 400, 0)))["distance"].to_list() == [0.5, 0.5]


def test_a_flow_without_rtt_has_no_distance():
    found = METRIC.compute(runs((1e6, 400, 0), (1e6, None, 0)))  # pyright: ignore[reportArgumentType]
    assert found["distance"].to_list() == [0, None]
