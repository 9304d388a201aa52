"""The metric of responses and chunks, in a case computed by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY


def answered(*messages: tuple[str, float, int]) -> PlausibleDataset:
    """Two flows and these events: kind, time in s, flow. The steady interval is 20 s to 60 s."""
    events = [
        {
            "run": 0,
            "time_s": time_s,
            "kind": kind,
            "flow": flow,
            "link": None,
            "packet": None,
            "cwnd_packets": 10,
            "ssthresh_packets": None,
        }
        for kind, time_s, flow in messages
    ]
    return by_hand(runs=[run_row(0)], flows=[flow_row(0, index) for index in range(2)], events=events)


def test_a_response_time_spans_from_the_request_to_the_last_byte():
    """Flow 0 has a response before the steady interval, then 2 s and 4 s: median 3 s, 95 % 3.9 s."""
    data = answered(
        ("start", 0.0, 0),
        ("request", 10.0, 0),
        ("response", 11.0, 0),
        ("request", 20.0, 0),
        ("response", 22.0, 0),
        ("request", 30.0, 0),
        ("response", 34.0, 0),
        ("request", 59.0, 0),
    )
    found = REGISTRY["response_time"].compute(data)
    assert found.row(0) == (0, 0, 2, 3.0, pytest.approx(3.9), 3.0)
    assert found.row(1) == (0, 1, 0, None, None, None)


def test_chunks_that_overtake_their_requests_are_answered_in_order():
    """The first of two responses takes 3 - 1 s, the second 4 - 2 s."""
    data = answered(("request", 21.0, 1), ("request", 22.0, 1), ("response", 23.0, 1), ("response", 24.0, 1))
    assert REGISTRY["response_time"].compute(data).row(1) == (0, 1, 2, 2.0, 2.0, 2.0)


def test_a_response_time_without_events_is_refused_with_the_setting_that_adds_them():
    with pytest.raises(TussleError, match=r"^response_time needs events.*settings=.*record\.events.*on"):
        REGISTRY["response_time"].compute(answered())
