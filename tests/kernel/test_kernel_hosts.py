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
    {"timestamps": "off"},
    {"growth": "ack"},
    {"initial_ssthresh": 20},
    {"rmem": "4096 131072 6291456", "wmem": "4096 16384 4194304"},
    {"rmem": "4096 131072 6291456", "moderate_rcvbuf": False},
    {"rmem": "4096 65536 131072", "adv_win_scale": 2},
    {"rmem": "4096 131072 6291456", "receive_window": "60 kB"},
    {"wmem": "4096 16384 100000"},
    {"quickack": True},
    {"initial_rwnd": 6},
    {"initial_rwnd": 10, "rmem": "4096 131072 6291456"},
    {"clock_offset": "1 h"},
    {"qdisc": "fq"},
]
"""Settings of hosts that Linux has."""

COUNTS = (
    "sent_packets",
    "retransmitted_packets",
    "dropped_packets",
    "recoveries",
    "timeouts",
    "delivered_bytes",
)


def a_run(*flows: dict[str, Any], **more: Any) -> dict[str, Any]:
    """Return a run over a short queue with random losses."""
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
        # Where a timer and an ACK coincide to the microsecond, a few packets more or fewer are sent.
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
            {"quickack": True},
            {"hystart": False},
            {"growth": "ack"},
            {"initial_ssthresh": 20},
            {"timestamps": "off"},
            {"rmem": "4096 32768 32768"},
            {"wmem": "4096 16384 65536"},
            {"qdisc": "fq"},
            {"offloads": True},
        )
    }
    assert len(set(results.values())) == len(results)


BURSTS = [
    ("10 Mbit/s", "50 ms", "1 bdp"),
    ("100 Mbit/s", "20 ms", "0.25 bdp"),
    ("100 Mbit/s", "5 ms", "2 bdp"),
]


@pytest.mark.parametrize("algorithm", ["reno", "cubic", "bbr"])
@pytest.mark.parametrize(("rate", "rtt", "limit"), BURSTS)
def test_bursts_are_those_of_the_simulator(algorithm: str, rate: str, rtt: str, limit: str):
    path = {"rate": rate, "rtt": rtt, "queue": {"limit": limit}}
    run = a_run({"algorithm": algorithm}, path=path, hosts={"offloads": True}, duration="8 s")
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    assert linux["sent_packets"][0] == pytest.approx(simulated["sent_packets"][0], rel=0.01)
    assert linux["delivered_bytes"][0] == pytest.approx(simulated["delivered_bytes"][0], rel=0.01)
    assert linux["recoveries"][0] == pytest.approx(simulated["recoveries"][0], rel=0.2, abs=2)


def test_packets_that_arrive_together_are_acknowledged_together():
    """The element releases the packets of each millisecond at once, 8 of them."""
    elements = [{"kind": "aggregate", "hold": "1 ms"}]
    path = {"rate": "100 Mbit/s", "rtt": "20 ms", "queue": {"limit": "0.5 bdp"}, "elements": elements}
    acks = {}
    for merges in (True, False):
        flow = {"algorithm": "cubic", "sender": {"offloads": True}, "receiver": {"offloads": merges}}
        run = a_run(flow, path=path, duration="4 s", steady={"from": "0 s"})
        for name in ("kernel", "sim"):
            links = engine(name).execute(run)["links"]
            reverse = links.filter(links["link"] == "bottleneck-reverse")
            acks[merges, name] = reverse["delivered_packets"].max()
    for merges in (True, False):
        assert acks[merges, "sim"] == pytest.approx(acks[merges, "kernel"], rel=0.05)
    assert acks[True, "kernel"] < acks[False, "kernel"] / 2


def test_each_flow_has_hosts_of_its_own():
    """The flows follow one another, so that each counts as if it were alone."""
    transfer = {"algorithm": "reno", "bytes": "3 MB"}
    flows = [
        transfer,
        transfer | {"start": "7 s", "sender": {"sack": False}},
        transfer | {"start": "14 s", "receiver": {"sack": False, "dsack": False}},
    ]
    run = a_run(*flows)
    columns = ("sent_packets", "retransmitted_packets", "recoveries")
    linux, simulated = (
        engine(name).execute(run)["flows"].select(*columns).rows() for name in ("kernel", "sim")
    )
    for theirs, ours in zip(linux, simulated, strict=True):
        assert theirs == pytest.approx(ours, rel=0.02, abs=2)
    # Without SACK a sender repairs one hole per round trip, so that the number of recoveries differs.
    assert len(set(linux)) == len(flows)


@pytest.mark.parametrize(
    ("hosts", "message"),
    [
        (
            {"reduction": "immediate"},
            'hosts.reduction: Linux has had no other since 3.2 than "prr"; give that, or the simulator',
        ),
        (
            {"fack": True, "recovery": "rfc6675"},
            "hosts.fack: Linux has had none since 4.15; give false, or the simulator",
        ),
        (
            {"early_retransmit": True, "recovery": "rfc6675"},
            "hosts.early_retransmit: Linux has had none since 4.14; give false, or the simulator",
        ),
        (
            {"rcvbuf_tuning": "twice", "rmem": "4096 87380 4194304"},
            'hosts.rcvbuf_tuning: Linux has tuned in another way since 3.14; give "rising", or the simulator',
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


HOST_PATHS: list[dict[str, Any]] = [
    {"hosts.bus": "15 Mbit/s", "hosts.ring": 30},
    {"path.bus": "30 Mbit/s", "path.ring": 30},
    {"hosts.noise": "uniform(0 ms, 1.5 ms)", "hosts.netdev_max_backlog": 30},
]
"""Settings that delay packets in a host: each limits a flow below the 20 Mbit/s of the path."""


@pytest.mark.parametrize("settings", HOST_PATHS, ids=lambda settings: next(iter(settings)))
@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
def test_a_host_delays_packets_as_in_the_simulator(algorithm: str, settings: dict[str, Any]):
    base = {
        "duration": "20 s",
        "path": {"rate": "20 Mbit/s", "rtt": "40 ms", "queue": {"limit": "50 packets"}},
        "repetitions": 1,
        "flows": [{"algorithm": algorithm}],
    }
    [planned] = Scenario.from_dict(base).with_settings(settings).runs()
    linux, simulated = (engine(name).execute(planned.run)["flows"] for name in ("kernel", "sim"))
    goodput = simulated["goodput_bit_per_s"][0]
    assert goodput < 15e6
    assert linux["goodput_bit_per_s"][0] == pytest.approx(goodput, rel=0.01)
    # Data and ACKs wait in one queue, so that a microsecond decides which of them is dropped.
    assert linux["recoveries"][0] == pytest.approx(simulated["recoveries"][0], abs=1)


def test_a_router_carries_what_ends_there_and_twice_what_it_forwards():
    """The bus carries the data and an ACK for every second packet: 1448 of 1526 bytes are goodput."""
    path = {"rate": "100 Mbit/s", "rtt": "10 ms", "queue": {"limit": "100 packets"}, "bus": "80 Mbit/s"}
    flows = [{"algorithm": "reno", "between_routers": True}, {"algorithm": "cubic", "start": "1 s"}]
    run = a_run(*flows, path=path)
    own, forwarded = engine("kernel").execute(run)["flows"]["goodput_bit_per_s"] / 1e6
    assert own + 2 * forwarded == pytest.approx(80 * 1448 / 1526, rel=0.01)
    assert min(own, forwarded) > 10


def test_linux_with_clocks_apart_counts_as_the_simulator():
    """LP compares the clocks of both hosts: a sender that is ahead hides every queue from it."""
    path = {"rate": "37 Mbit/s", "rtt": "63 ms", "queue": {"limit": "204 kB"}}
    goodputs = []
    for ahead in ((), ("sender",), ("sender", "receiver")):
        flow = {"algorithm": "lp"} | {end: {"clock_offset": "1 h"} for end in ahead}
        run = a_run(flow, path=path, hosts={"timestamps": "synchronised"})
        linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
        assert linux["sent_packets"][0] == pytest.approx(simulated["sent_packets"][0], rel=0.001)
        goodputs.append(linux["goodput_bit_per_s"][0])
    together, apart, together_later = goodputs
    assert together == together_later < 0.1 * apart


@pytest.mark.parametrize("network", ["qdisc", "mixed", "tun"])
def test_a_bus_needs_the_driver(network: str):
    run = a_run({"algorithm": "reno"}, hosts={"bus": "1 Gbit/s"})
    message = (
        "packets cross flow-0-sender-bus twice or in both directions, like the bus of a host; give --network"
    )
    with pytest.raises(TussleError, match=message):
        KernelEngine(network=network).check(run)


def test_receivers_that_differ_need_the_driver():
    run = a_run({"algorithm": "reno"}, {"algorithm": "reno", "receiver": {"sack": False}})
    with pytest.raises(TussleError, match=r"^flows\.1\.receiver: receivers differ; only --network driver"):
        KernelEngine(network="qdisc").check(run)


@pytest.mark.parametrize(
    "hosts",
    [
        {"qdisc": "pfifo_fast"},
        {"qdisc": "fq"},
        {"qdisc": "fq_codel"},
        {"qdisc": "pfifo_fast", "limit_output": "2 kB"},
        {"qdisc": "pfifo_fast", "txqueuelen": 2},
    ],
    ids=str,
)
def test_packets_wait_in_the_device_of_their_host_as_in_the_simulator(hosts: dict[str, Any]):
    """The access link is the bottleneck: the small queue of its host decides how far the window grows."""
    path = {"rate": "100 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}}
    flow = {"algorithm": "cubic", "access": {"rate": "90 Mbit/s"}}
    run = a_run(flow, path=path, hosts=hosts, duration="5 s")
    linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
    for column in COUNTS:
        assert linux[column][0] == pytest.approx(simulated[column][0], rel=0.001), column
    assert linux["rtt_mean_ms"][0] == pytest.approx(simulated["rtt_mean_ms"][0], rel=0.005)
    # A drop in the sender's own host is congestion that it learns of at once.
    assert (linux["dropped_packets"][0] > 0) == ("txqueuelen" in hosts)


def test_a_limit_of_the_output_cannot_be_off():
    hosts = {"qdisc": "pfifo_fast", "limit_output": "off"}
    run = a_run({"algorithm": "reno", "access": {"rate": "10 Mbit/s"}}, hosts=hosts)
    assert refusal(run).startswith("flows.0.sender.limit_output: Linux has had a limit since 3.6")


def test_a_device_with_a_rate_needs_the_driver():
    run = a_run({"algorithm": "reno", "access": {"rate": "10 Mbit/s"}}, hosts={"qdisc": "fq"})
    with pytest.raises(TussleError, match=r"^flows\.0\.access\.rate: only --network driver"):
        KernelEngine(network="qdisc").check(run)


LEAST = {100: 90, 250: 50, 1000: 25}
MOST = {100: 97, 250: 70, 1000: 35}
"""Mbit/s of Westwood when Reno joins it, by ticks per second: its smallest RTT is a whole tick."""


def kernel_can_tick(hz: int) -> bool:
    """Whether the kernel, or its sibling with another tick (`make ticks`), is built."""
    try:
        UserMode().with_hz(hz).check()
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
@pytest.mark.parametrize(
    ("hosts", "mbit_per_s"),
    [({}, 145.4), ({"wmem": "unlimited"}, 167.7), ({"offloads": False}, 79.39)],
    ids=["shipped", "wmem", "offloads"],
)
def test_a_send_buffer_holds_more_with_offloads(name: str, hosts: dict[str, Any], mbit_per_s: float):
    path = {"rate": "300 Mbit/s", "rtt": "150 ms", "queue": {"limit": "2 bdp"}}
    hosts = {"profile": "linux-6.1", **hosts}
    run = a_run({"algorithm": "scalable"}, path=path, hosts=hosts, duration="5 s", steady={"from": "2 s"})
    [found] = engine(name).execute(run)["flows"]["goodput_bit_per_s"] / 1e6
    assert found == pytest.approx(mbit_per_s, rel=1e-3)


@pytest.mark.parametrize("name", ["sim", "kernel"])
def test_a_receiver_with_offloads_acknowledges_a_recovery_at_once(name: str):
    """Packets that share memory leave room for the window to grow, and each growth makes an ACK immediate."""
    path = {"rate": "6.51 Mbit/s", "rtt": "4.63 ms", "queue": {"limit": "2.38 bdp"}}
    run = a_run({"algorithm": "dctcp"}, path=path, hosts={"profile": "linux-6.1"}, duration="10 s")
    row = engine(name).execute(run)["flows"].row(0, named=True)
    assert (row["retransmitted_packets"], row["recoveries"]) == (192, 94)


@pytest.mark.parametrize("name", ["sim", "kernel"])
def test_growth_for_each_ack_gives_h_tcp_what_reno_loses(name: str):
    """With growth per ACK, delayed ACKs halve the growth of Reno; that of H-TCP depends on time."""
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


def test_connections_of_one_table_keep_what_they_learn():
    """Transfers one after another: the first slow start overshoots, the others begin with its threshold."""
    path = {"rate": "20 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}}
    flow = {"algorithm": "reno", "arrivals": "4 s", "bytes": "4 MB"}
    retransmitted = {}
    for keeps in (True, False):
        run = a_run(flow, path=path, hosts={"metrics_save": keeps})
        linux, simulated = (engine(name).execute(run)["flows"] for name in ("kernel", "sim"))
        for column in ("retransmitted_packets", "recoveries", "timeouts", "completion_s"):
            assert linux[column].to_list() == pytest.approx(simulated[column].to_list(), abs=1e-3), column
        retransmitted[keeps] = linux["retransmitted_packets"].to_list()
    assert retransmitted[True][0] == retransmitted[False][0] > 10
    later = zip(retransmitted[True][1:], retransmitted[False][1:], strict=True)
    assert all(kept < lost / 2 for kept, lost in later)
