"""Settings of hosts on the kernel engine: they are set, and change results as in the simulator."""

from typing import Any

import pytest

from tussle.engines import engine
from tussle.engines.kernel import KernelEngine
from tussle.errors import TussleError
from tussle.kernel.guest import UserMode
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

SETTINGS: list[dict[str, Any]] = [
    {},
    {"sack": False},
    {"dsack": False},
    {"recovery": "rfc6675"},
    {"recovery": "newreno", "frto": False},
    {"tlp": False},
    {"frto": False},
    {"initial_cwnd": 3},
    {"slow_start_after_idle": False},
    {"hystart": False},
    {"timestamps": "synchronised"},
    {"growth": "ack"},
    {"initial_ssthresh": 20},
]
"""What Linux can be told about its hosts."""

COUNTS = (
    "sent_packets",
    "retransmitted_packets",
    "dropped_packets",
    "recoveries",
    "timeouts",
    "delivered_bytes",
)


def a_run(*flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """A run over a short queue with random losses."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "loss": "0.5 %", "queue": {"limit": "50 packets"}}
    [planned, *_] = Scenario.from_dict(
        {"duration": "20 s", "path": path, "repetitions": 1, "flows": list(flows)} | more
    ).runs()
    return planned.run


def refusal(run: dict[str, Any]) -> str:
    with pytest.raises(TussleError) as raised:
        KernelEngine().check(run)
    return str(raised.value)


@pytest.mark.parametrize("hosts", SETTINGS, ids=lambda hosts: " ".join(hosts) or "bare")
@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_a_flow_counts_as_in_the_simulator_with_each_setting(algorithm: str, hosts: dict[str, Any]):
    run = a_run({"algorithm": algorithm}, hosts=hosts)
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    for column in COUNTS:
        # Timers meet ACKs to the microsecond now and then: a few packets fewer or more.
        exact = column not in ("sent_packets", "delivered_bytes")
        tolerance = 0.0 if exact else 0.005
        assert linux[column][0] == pytest.approx(simulated[column][0], rel=tolerance), column


def test_settings_change_results():
    """The test above would hold if no setting reached any host."""
    results = {
        str(hosts): engine("kernel").execute(a_run({"algorithm": "cubic"}, hosts=hosts))["flows"].row(0)
        for hosts in (
            {},
            {"sack": False},
            {"recovery": "rfc6675"},
            {"initial_cwnd": 3},
            {"hystart": False},
            {"growth": "ack"},
            {"initial_ssthresh": 20},
        )
    }
    assert len(set(results.values())) == len(results)


def test_each_flow_has_hosts_of_its_own():
    """The flows follow one another, so that each counts as if it were alone."""
    whole = {"algorithm": "reno", "bytes": "3 MB"}
    flows = [
        whole,
        whole | {"start": "7 s", "sender": {"sack": False}},
        whole | {"start": "14 s", "receiver": {"sack": False, "dsack": False}},
    ]
    run = a_run(*flows)
    columns = ("sent_packets", "retransmitted_packets", "recoveries")
    linux, simulated = (
        engine(name).execute(run)["flows"].select(*columns).rows() for name in ("kernel", "sim")
    )
    for theirs, ours in zip(linux, simulated, strict=True):
        assert theirs == pytest.approx(ours, rel=0.02, abs=2)
    # Without SACK each recovery repairs its holes one by one, by more recoveries or fewer.
    assert len(set(linux)) == len(flows)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (
            {"prr": False},
            "hosts.prr: Linux has had no other reduction since 3.2; give true, or the simulator",
        ),
        (
            {"hz": 333},
            "hosts.hz: 333; kernel linux-6.1 has 250 ticks per second, and linux-6.1-333hz is not ",
        ),
    ],
)
def test_settings_that_this_kernel_lacks_are_refused(hosts: dict[str, Any], message: str):
    assert refusal(a_run({"algorithm": "reno"}, hosts=hosts)).startswith(message)


def test_two_hosts_with_different_ticks_do_not_share_a_kernel():
    run = a_run({"algorithm": "reno"}, {"algorithm": "reno", "sender": {"hz": 1000}})
    assert refusal(run).startswith("flows.1.sender.hz: 1000, and 250 on other hosts; they share a kernel")


def test_receivers_that_differ_need_the_driver():
    run = a_run({"algorithm": "reno"}, {"algorithm": "reno", "receiver": {"sack": False}})
    with pytest.raises(TussleError, match=r"^flows\.1\.receiver: receivers differ; only --network driver"):
        KernelEngine(network="qdisc").check(run)


LEAST = {100: 90, 250: 50, 1000: 25}
MOST = {100: 97, 250: 70, 1000: 35}
"""Mbit/s of Westwood when Reno joins it, by ticks per second: its smallest RTT is a whole tick."""


def kernel_can_tick(hz: int) -> bool:
    """Whether the kernel, or its sibling with another tick (`make ticks`), is built."""
    try:
        UserMode().ticking(hz).check()
    except TussleError:
        return False
    return True


CASES = [("sim", hz) for hz in LEAST] + [("kernel", hz) for hz in LEAST if kernel_can_tick(hz)]


@pytest.mark.parametrize(("name", "hz"), CASES)
def test_the_tick_decides_what_westwood_leaves_to_reno(name: str, hz: int):
    path = {"rate": "100 Mbit/s", "rtt": "0.3 ms", "queue": {"limit": "75 kB"}}
    flows = [{"algorithm": "westwood"}, {"algorithm": "reno", "start": "5 s"}]
    run = a_run(*flows, path=path, hosts={"hz": hz}, duration="40 s", steady={"from": "5 s"})
    westwood, reno = engine(name).execute(run)["flows"]["goodput_bit_per_s"] / 1e6
    assert LEAST[hz] < westwood < MOST[hz]
    # 1448 of 1500 bytes are payload, and the queue is never empty.
    assert westwood + reno == pytest.approx(96.5, abs=0.3)


@pytest.mark.parametrize("name", ["sim", "kernel"])
def test_growth_for_each_ack_gives_h_tcp_what_reno_loses(name: str):
    """Reno behind delayed ACKs grows half as fast then; H-TCP grows with time."""
    path = {"rate": "100 Mbit/s", "rtt": "0.3 ms", "queue": {"limit": "75 kB"}}
    flows = [{"algorithm": "reno"}, {"algorithm": "htcp", "start": "5 s"}]
    reno_mbit = {}
    for growth in ("packet", "ack"):
        run = a_run(*flows, path=path, hosts={"growth": growth}, duration="40 s", steady={"from": "5 s"})
        reno, htcp = engine(name).execute(run)["flows"]["goodput_bit_per_s"] / 1e6
        assert reno + htcp == pytest.approx(96.5, abs=0.3)
        reno_mbit[growth] = reno
    assert 44 < reno_mbit["packet"] < 54
    assert 30 < reno_mbit["ack"] < 38
