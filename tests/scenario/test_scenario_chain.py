"""Bottlenecks in series: their settings, and the goodputs that theory predicts."""

import json
import math
from typing import Any

import pytest

from tussle import _core
from tussle.engines import engine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from written import scenario

MS = 1_000_000


def resolved(made: Scenario) -> dict[str, Any]:
    """Return the run of the only point after the simulator has accepted it."""
    (point,) = made.points()
    run = point.resolve(seed=1)
    _core.check(json.dumps(run))
    return run


def chain(*flows: dict[str, Any], **changes: Any) -> Scenario:
    """Three links of 100 Mbit/s and 40 ms, and these flows."""
    path = {"rate": "100 Mbit/s", "rtt": "40 ms", **changes.pop("path", {}), "links": [{}, {}]}
    return scenario(flows=[{"algorithm": "reno", **flow} for flow in flows], path=path, **changes)


def test_a_path_with_one_link_has_no_list_of_links():
    assert "links" not in scenario().to_toml()
    assert [each["name"] for each in resolved(scenario())["elements"]] == ["bottleneck", "bottleneck-reverse"]


def test_a_flow_crosses_the_links_from_where_it_enters_to_where_it_leaves():
    run = resolved(chain({}, {"leaves": 1}, {"enters": 2}, {"enters": 2, "leaves": 2}))
    assert [flow["forward"] for flow in run["flows"]] == [
        ["bottleneck", "bottleneck-2", "bottleneck-3"],
        ["bottleneck"],
        ["bottleneck-2", "bottleneck-3"],
        ["bottleneck-2"],
    ]
    assert run["flows"][2]["reverse"] == ["bottleneck-3-reverse", "bottleneck-2-reverse"]


def test_a_reverse_flow_crosses_them_backwards():
    (flow,) = resolved(chain({"direction": "reverse", "enters": 2}))["flows"]
    assert flow["forward"] == ["bottleneck-3-reverse", "bottleneck-2-reverse"]
    assert flow["reverse"] == ["bottleneck-2", "bottleneck-3"]


def test_a_further_link_inherits_unset_keys_from_the_first():
    """1 bdp of 10 Mbit/s and 12 ms is 15 000 bytes: 10 packets of 1500; of 100 Mbit/s and 40 ms 333."""
    made = scenario(
        path__links=[{}, {"rate": "10 Mbit/s", "rtt": "12 ms"}],
        path__reverse__rate="1 Mbit/s",
        path__reverse__queue__limit="20 packets",
    )
    by_name = {each["name"]: each for each in resolved(made)["elements"]}
    assert by_name["bottleneck-2"] == by_name["bottleneck"] | {"name": "bottleneck-2"}
    back = by_name["bottleneck-reverse"] | {"name": "bottleneck-2-reverse"}
    assert by_name["bottleneck-2-reverse"] == back
    assert by_name["bottleneck"]["queue"] == {"kind": "fifo", "limit_packets": 333}
    assert by_name["bottleneck-3"] == {
        "name": "bottleneck-3",
        "kind": "link",
        "rate_bit_per_s": 10_000_000,
        "delay_ns": 6 * MS,
        "queue": {"kind": "fifo", "limit_packets": 10},
    }
    assert by_name["bottleneck-3-reverse"]["rate_bit_per_s"] == 10_000_000


def test_elements_stay_at_the_first_link():
    made = scenario(path__links=[{}], path__elements=[{"kind": "duplicate", "probability": "1 %"}])
    (flow,) = resolved(made)["flows"]
    assert flow["forward"] == ["bottleneck", "duplicate", "bottleneck-2"]


def test_a_list_in_a_link_is_an_axis():
    points = scenario(path__links=[{"rate": ["1 Mbit/s", "2 Mbit/s"]}]).points()
    assert [point.axes for point in points] == [
        {"path.links.0.rate": "1 Mbit/s"},
        {"path.links.0.rate": "2 Mbit/s"},
    ]


@pytest.mark.parametrize(
    ("flow", "sentence"),
    [
        ({"enters": 4}, "scenario, flows.0.enters: 4; the path has 3 bottlenecks"),
        ({"leaves": 4}, "scenario, flows.0.leaves: 4; the path has 3 bottlenecks"),
        ({"enters": 0}, "scenario, flows.0.enters: 0 is out of range; give 1 to 100"),
        (
            {"enters": 3, "leaves": 2},
            "scenario, flows.0.leaves: 2 is before enters, 3; flows cross the bottlenecks in order",
        ),
    ],
)
def test_an_invalid_route_is_refused(flow: dict[str, Any], sentence: str):
    with pytest.raises(TussleError) as refused:
        chain(flow)
    assert str(refused.value) == sentence


def test_entering_a_missing_link_is_refused_with_the_key_that_adds_links():
    with pytest.raises(TussleError, match=r"has 1 bottleneck; add \[\[path\.links\]\]$"):
        scenario(flows__0__leaves=2)


def test_a_queue_that_a_further_link_makes_too_long_is_refused():
    with pytest.raises(TussleError, match=r"^scenario, path\.links\.0: queue\.limit: 1 bdp is .* packets"):
        scenario(path__links=[{"rate": "400 Gbit/s", "rtt": "200 s"}])


def goodputs(kind: str, *flows: dict[str, Any]) -> list[float]:
    """Return the goodput in bit/s of each Reno flow over three links of 10 Mbit/s and 30 ms for 200 s."""
    queue = {"kind": kind, "limit": "50 packets"}
    if kind == "red":
        queue |= {"min": "5 packets", "max": "15 packets", "ecn": False}
    path = {"rate": "10 Mbit/s", "rtt": "30 ms", "queue": queue}
    made = chain(*flows, path=path, duration="300 s")
    return engine("sim").execute(resolved(made))["flows"]["goodput_bit_per_s"].to_list()


PARKING_LOT = ({}, {"leaves": 1}, {"enters": 2, "leaves": 2}, {"enters": 3})


def test_the_long_flow_obeys_the_square_root_law_under_random_losses():
    """Three times the RTT and the losses give 1 / (3 sqrt(3)) = 0.19 of a short flow's goodput."""
    long, *short = goodputs("red", *PARKING_LOT)
    assert long / (sum(short) / 3) == pytest.approx(1 / (3 * math.sqrt(3)), rel=0.2)
    # Nothing tells the short ones apart.
    assert max(short) / min(short) < 1.03


def test_each_link_of_a_chain_is_full():
    """Long and short flow together have 10 Mbit/s · 1448 / 1500 = 9.65 of payload at each link."""
    long, *short = goodputs("fifo", *PARKING_LOT)
    for each in short:
        assert long + each == pytest.approx(9.65e6, rel=0.01)


def test_flows_on_different_links_do_not_interact():
    """Each flow delivers exactly as many packets as it does alone."""
    apart = goodputs("fifo", {"leaves": 1}, {"enters": 3})
    assert apart[0] == apart[1]
    assert [apart[0]] == goodputs("fifo", {"leaves": 1})
