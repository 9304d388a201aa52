"""Buses of hosts and routers, and the time that hosts take: their elements in runs, and what they do."""

from typing import Any

import pytest

from tussle.engines import engine
from tussle.errors import TussleError
from tussle.scenario import Scenario


def scenario(*flows: dict[str, Any], hosts: dict[str, Any] | None = None, **path: Any) -> Scenario:
    base = {"rate": "100 Mbit/s", "rtt": "10 ms", "queue": {"limit": "100 packets"}}
    return Scenario.from_dict(
        {
            "duration": "20 s",
            "path": base | path,
            "hosts": hosts or {},
            "flows": [{"algorithm": "reno"} | flow for flow in flows or [{}]],
        }
    )


def ways(made: Scenario, flow: int = 0) -> tuple[list[str], list[str]]:
    run = made.runs()[0].run
    return run["flows"][flow]["forward"], run["flows"][flow]["reverse"]


def goodputs_mbit(made: Scenario) -> list[float]:
    [planned] = made.runs()
    return (engine("sim").execute(planned.run)["flows"]["goodput_bit_per_s"] / 1e6).to_list()


def refusal(*flows: dict[str, Any], **path: Any) -> str:
    with pytest.raises(TussleError) as raised:
        scenario(*flows, **path)
    return str(raised.value)


def test_without_a_bus_a_path_has_no_further_elements():
    assert ways(scenario()) == (["bottleneck"], ["bottleneck-reverse"])
    assert ways(scenario({"between_routers": True})) == ways(scenario())


def test_both_directions_share_the_bus_of_a_host():
    made = scenario({"access": {"delay": "1 ms"}}, hosts={"bus": "80 Mbit/s", "noise": "20 us"})
    forward, reverse = ways(made)
    sender, receiver = ["flow-0-sender-noise", "flow-0-sender-bus"], ["flow-0-receiver-bus"]
    receiver = [*receiver, "flow-0-receiver-noise"]
    assert forward == [*sender, "flow-0-access", "bottleneck", *receiver]
    assert reverse == [*receiver[::-1], "bottleneck-reverse", "flow-0-access-reverse", *sender[::-1]]


def test_a_forwarded_packet_crosses_the_bus_of_a_router_twice_and_that_of_its_host_once():
    made = scenario({}, {"between_routers": True}, bus="80 Mbit/s")
    first, last = "router-1-bus", "router-2-bus"
    assert ways(made)[0] == [first, first, "bottleneck", last, last]
    assert ways(made)[1] == [last, last, "bottleneck-reverse", first, first]
    assert ways(made, 1) == ([first, "bottleneck", last], [last, "bottleneck-reverse", first])


def test_a_chain_has_a_router_between_its_bottlenecks():
    flows = [{"between_routers": True}, {"enters": 2, "direction": "reverse"}]
    made = scenario(*flows, bus="80 Mbit/s", links=[{}])
    one, two, three = (f"router-{number}-bus" for number in (1, 2, 3))
    assert ways(made)[0] == [one, "bottleneck", two, two, "bottleneck-2", three]
    assert ways(made, 1)[0] == [three, three, "bottleneck-2-reverse", two, two]


def test_only_the_hosts_of_one_flow_may_have_a_bus():
    made = scenario({"sender": {"bus": "80 Mbit/s", "ring": 7}}, {})
    elements = {element["name"]: element for element in made.runs()[0].run["elements"]}
    assert elements["flow-0-sender-bus"]["queue"] == {"kind": "fifo", "limit_packets": 7}
    assert [name for name in elements if name.endswith("bus")] == ["flow-0-sender-bus"]


def test_the_rings_of_hosts_are_those_of_the_profile_and_of_routers_256():
    made = scenario(hosts={"bus": "80 Mbit/s", "noise": "1 us"}, bus="80 Mbit/s")
    limits = {e["name"]: e["queue"]["limit_packets"] for e in made.runs()[0].run["elements"]}
    assert (limits["flow-0-sender-bus"], limits["router-1-bus"]) == (256, 256)
    assert limits["flow-0-receiver-noise"] == 1000


def test_a_host_sends_and_receives_at_the_rate_of_its_bus():
    """Data packets of 1500 bytes, and an ACK of 52 for every second one: 1448 of 1526 bytes are goodput."""
    [goodput] = goodputs_mbit(scenario(hosts={"bus": "50 Mbit/s"}))
    assert goodput == pytest.approx(50 * 1448 / 1526, rel=0.01)


def test_what_a_bus_carries_is_what_ends_there_and_twice_what_is_forwarded():
    flows = [{"between_routers": True}, {"algorithm": "cubic", "start": "1 s"}]
    own, forwarded = goodputs_mbit(scenario(*flows, bus="80 Mbit/s"))
    assert own + 2 * forwarded == pytest.approx(80 * 1448 / 1526, rel=0.01)
    assert own > 10
    assert forwarded > 10


def test_a_host_handles_packets_one_after_another():
    """0.2 ms on average for each data packet and half an ACK: 3333 data packets per second, 38.6 Mbit/s."""
    made = scenario(hosts={"noise": "uniform(0 ms, 0.4 ms)"})
    [goodput] = goodputs_mbit(made.with_settings({"repetitions": 1}))
    assert goodput == pytest.approx(38.6, rel=0.02)


@pytest.mark.parametrize(("noise", "repetitions"), [("20 us", 1), ("0 s", 1), ("exponential(20 us)", 10)])
def test_random_times_are_repeated(noise: str, repetitions: int):
    made = scenario(hosts={"noise": noise})
    assert len(made.runs()) == repetitions
    random = ["flow-0-sender-noise", "flow-0-receiver-noise"] if repetitions > 1 else []
    assert made.random_parts() == random


def test_the_offset_of_a_clock_is_in_the_hosts_of_a_run():
    made = scenario({"receiver": {"clock_offset": "0 s"}}, hosts={"clock_offset": "5 s"})
    run = made.runs()[0].run
    assert run["hosts"]["clock_offset_ms"] == 5000
    assert "clock_offset_ms" not in run["flows"][0]["receiver"]


def test_lp_depends_on_the_difference_of_two_clocks():
    """An offset of more than 2^29 ms, 150 h, hides every queue from LP, which is then Reno."""

    def mbit(algorithm: str = "lp", **flow: Any) -> float:
        path = {"rate": "37 Mbit/s", "rtt": "63 ms", "queue": {"limit": "204 kB"}}
        made = scenario({"algorithm": algorithm} | flow, hosts={"timestamps": "synchronised"}, **path)
        return goodputs_mbit(made)[0]

    ahead = {"clock_offset": "200 h"}
    assert mbit(receiver=ahead) == mbit("reno")
    assert mbit(receiver=ahead, sender=ahead) == mbit() < 0.1 * mbit("reno")


@pytest.mark.parametrize(
    ("flow", "path", "message"),
    [
        ({}, {"ring": 7}, "scenario, path.ring: the path has no bus; give path.bus"),
        (
            {"between_routers": True, "sender": {"bus": "1 Mbit/s"}},
            {"bus": "80 Mbit/s"},
            "scenario, flows.0.sender.bus: the host is a router; give path.bus",
        ),
        (
            {"between_routers": True, "receiver_access": {"delay": "1 ms"}},
            {"bus": "80 Mbit/s"},
            "scenario, flows.0.receiver_access: the host is a router, at the bottleneck; leave it out",
        ),
    ],
)
def test_settings_of_buses_that_do_not_fit_are_refused(
    flow: dict[str, Any], path: dict[str, Any], message: str
):
    assert refusal(flow, **path) == message
