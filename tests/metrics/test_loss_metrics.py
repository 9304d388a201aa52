"""Metrics of packets that the network dropped, in cases computed by hand."""

import pytest

from plausible import PlausibleDataset, by_hand, flow_row, run_row
from tussle.errors import TussleError
from tussle.metrics import REGISTRY


def dropped(*drops: tuple[float, int], flows: int = 2, **flow: object) -> PlausibleDataset:
    """Two flows and these drops: time in ms since the steady interval began, and flow. The RTT is 80 ms.

    333 packets of 0.12 ms are 39.96 ms, and the path has 40 ms.
    """
    events = [
        {
            "run": 0,
            "time_s": 20 + ms / 1e3,
            "kind": "drop",
            "flow": of,
            "link": "bottleneck",
            "packet": number,
            "cwnd_packets": 10,
            "ssthresh_packets": None,
        }
        for number, (ms, of) in enumerate(drops)
    ]
    rows = [flow_row(0, index, **flow) for index in range(flows)]
    return by_hand(runs=[run_row(0)], flows=rows, events=events)


def test_losses_within_a_round_trip_are_one_loss_event():
    """Flow 0 loses 3 packets from 10 ms on, and one at 100 ms, later than 10 + 79.96; flow 1 loses two."""
    data = dropped((10, 0), (11, 0), (12, 1), (13, 1), (89, 0), (100, 0))
    assert REGISTRY["loss_event_size"].compute(data).rows() == [(0, 0, 2, 2.0, 3), (0, 1, 1, 2.0, 2)]


def test_drops_before_the_steady_interval_do_not_count():
    data = dropped((-500, 0), (10, 0))
    assert REGISTRY["loss_event_size"].compute(data).rows() == [(0, 0, 1, 1.0, 1), (0, 1, 0, None, None)]


def test_loss_synchronisation_is_the_fraction_of_flows_that_lose_in_an_event():
    """In three events, two, one and one of two flows lose packets: (1 + 1/2 + 1/2) / 3."""
    data = dropped((10, 0), (12, 1), (200, 0), (201, 0), (400, 1))
    assert REGISTRY["loss_synchronisation"].compute(data).row(0) == (0, 3, pytest.approx(2 / 3))


def test_a_single_flow_has_no_loss_synchronisation():
    assert REGISTRY["loss_synchronisation"].compute(dropped((10, 0), flows=1)).row(0) == (0, 1, None)


@pytest.mark.parametrize("metric", ["loss_event_size", "loss_synchronisation"])
@pytest.mark.parametrize("counted", [3, None])
def test_losses_without_events_are_refused(metric: str, counted: int | None):
    with pytest.raises(TussleError, match=f"^{metric} needs events.*settings=.*record.events.*on"):
        REGISTRY[metric].compute(dropped(dropped_packets=counted))


def test_events_of_other_kinds_do_not_replace_drop_events():
    data = dropped((10, 0), dropped_packets=1)
    events = [row | {"kind": "timeout"} for row in data.events.collect().to_dicts()]
    flows = data.flows.collect().to_dicts()
    silent = by_hand(runs=data.runs.collect().to_dicts(), flows=flows, events=events)
    with pytest.raises(TussleError, match="needs events"):
        REGISTRY["loss_event_size"].compute(silent)


def test_a_damaged_packet_counts_as_lost():
    data = dropped((10, 0), (11, 0))
    events = data.events.collect().to_dicts()
    events[1]["kind"] = "corrupt"
    flows = [flow_row(0, 0, dropped_packets=2), flow_row(0, 1)]
    damaged = by_hand(runs=data.runs.collect().to_dicts(), flows=flows, events=events)
    assert REGISTRY["loss_event_size"].compute(damaged).row(0) == (0, 0, 1, 2.0, 2)


def test_a_run_without_drops_has_zero_loss_events():
    assert REGISTRY["loss_event_size"].compute(dropped()).rows() == [
        (0, 0, 0, None, None),
        (0, 1, 0, None, None),
    ]
    assert REGISTRY["loss_synchronisation"].compute(dropped()).rows() == [(0, 0, None)]
