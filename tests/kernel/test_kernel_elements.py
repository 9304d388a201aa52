"""The kernel engine over the simulator's own elements, in its driver or between TUN devices."""

import re
from typing import Any

import polars as pl
import pytest

from tussle.catalog import catalog
from tussle.engines import engine
from tussle.engines.kernel import KernelEngine
from tussle.engines.netns import NamespacesEngine
from tussle.errors import TussleError
from tussle.kernel.guest import AUTO, DRIVER, MIXED, NETWORKS, datapath
from tussle.profiles import profiles
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

_MS = 1_000_000
FIFO = {"kind": "fifo", "limit_packets": 40}
LINK = {"kind": "link", "rate_bit_per_s": 8_000_000, "delay_ns": 10 * _MS, "queue": FIFO}
UNIFORM = {"uniform": {"least_ns": 0, "most_ns": 4 * _MS}}

ELEMENTS: dict[str, dict[str, Any]] = {
    "link": {**LINK, "changes": [{"at_ns": 2000 * _MS, "rate_bit_per_s": 4_000_000, "delay_ns": 30 * _MS}]},
    "trace": {"opportunities_ms": [2, 3, 5, 9, 14], "delay_ns": 5 * _MS, "queue": FIFO},
    "arq": {**LINK, "block_error": 0.1, "block_bytes": 500, "attempts": 3, "retry_delay_ns": 4 * _MS},
    "wifi": {
        "rate_bit_per_s": 54_000_000,
        "delay_ns": 2 * _MS,
        "queue": FIFO,
        "stations": 2,
        "signal_dbm": -70.0,
        "fading_db": 2.0,
        "fading_every_ns": 100 * _MS,
    },
    "processing": {"time": {"exponential_ns": _MS}, "queue": FIFO},
    "delay": {"delay_ns": 7 * _MS},
    "jitter": {"delay": UNIFORM, "order": "free"},
    "ramp": {"from_delay_ns": 0, "to_delay_ns": 20 * _MS, "begin_ns": 1000 * _MS, "end_ns": 3000 * _MS},
    "rtt_series": {"steps": [{"until_ns": k * 100 * _MS, "delay_ns": k * _MS} for k in range(1, 11)]},
    "handover": {"delay": UNIFORM, "every_ns": 500 * _MS},
    "outage": {"up": {"constant_ns": 900 * _MS}, "down": {"constant_ns": 100 * _MS}, "while_down": "hold"},
    "aggregate": {"most_packets": 4, "hold_ns": 3 * _MS},
    "policer": {"rate_bit_per_s": 6_000_000, "burst_bytes": 30_000},
    "loss": {"probability": 0.01},
    "gilbert_elliott": {"p": 0.005, "r": 0.3, "loss_bad": 0.8, "loss_good": 0.0},
    "loss_periodic": {"every_packets": 150},
    "loss_list": {"packets": [20, 21, 300]},
    "corrupt": {"probability": 0.01},
    "duplicate": {"probability": 0.02},
    "mark": {"probability": 0.02},
    "unmark": {"probability": 1.0},
}
"""Settings for each element; a link of 8 Mbit/s follows."""


THROUGH_TUN = ("link", "jitter", "corrupt", "duplicate")
"""Elements that are tested between TUN devices, too: each changes packets in another way."""

CASES = [*(("driver", kind) for kind in ELEMENTS), *(("tun", kind) for kind in THROUGH_TUN)]
"""Datapath, and kind of the element."""


def test_no_element_is_left_out():
    assert set(ELEMENTS) == set(catalog().elements)


def a_run(element: dict[str, Any], **flow: Any) -> dict[str, Any]:
    """Return a run of a Reno flow for 5 s over an element and a path of 8 Mbit/s and 20 ms."""
    first = {"name": "first", **element}
    path = [first, {"name": "forward", **LINK}, {"name": "reverse", **LINK}]
    settings = {"name": "flow", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448, **flow}
    return {
        "format": 1,
        "profile": "linux-6.1",
        "seed": 7,
        "duration_ns": 5000 * _MS,
        "steady": {"from_ns": 0, "to_ns": 5000 * _MS},
        "record": {"sampling": {"every_ns": 100 * _MS}, "events": False},
        "elements": path,
        "flows": [{**settings, "forward": ["first", "forward"], "reverse": ["reverse"]}],
    }


def over(network: str, run: dict[str, Any]) -> dict[str, pl.DataFrame]:
    return KernelEngine(network=network).execute(run)


def counts(tables: dict[str, pl.DataFrame], *columns: str) -> tuple[Any, ...]:
    return tables["flows"].select(*columns).row(0)


@pytest.mark.parametrize(("network", "kind"), CASES)
def test_linux_over_an_element_counts_as_the_simulator(network: str, kind: str):
    """Both engines fail when a packet is unaccounted for, and use the same random numbers for each packet.

    Hosts in a guest answer a microsecond later, which can change the order of packets. Results
    differ from then on.
    """
    run = a_run({**ELEMENTS[kind], "kind": kind})
    in_simulator, in_linux = (
        counts(tables, "delivered_bytes", "dropped_packets", "recoveries")
        for tables in (engine("sim").execute(run), over(network, run))
    )
    assert in_linux[0] == pytest.approx(in_simulator[0], rel=0.05)
    assert abs(in_linux[1] - in_simulator[1]) <= max(5, in_simulator[1] // 10)
    assert abs(in_linux[2] - in_simulator[2]) <= 2


IGNORE_MICROSECONDS = (
    "link",
    "trace",
    "arq",
    "outage",
    "loss",
    "gilbert_elliott",
    "loss_periodic",
    "loss_list",
    "corrupt",
    "duplicate",
    "mark",
    "unmark",
)


@pytest.mark.parametrize(
    ("network", "kind"), [(network, kind) for network, kind in CASES if kind in IGNORE_MICROSECONDS]
)
def test_elements_that_ignore_microseconds_agree_to_the_packet(network: str, kind: str):
    run = a_run({**ELEMENTS[kind], "kind": kind})
    simulated, linux = engine("sim").execute(run), over(network, run)
    same = ("sent_packets", "retransmitted_packets", "recoveries", "timeouts", "delivered_bytes")
    assert counts(linux, *same) == counts(simulated, *same)
    # Linux is read when the network is empty: packets in flight at the end may have been lost since.
    [[in_simulator], [in_linux]] = (counts(tables, "dropped_packets") for tables in (simulated, linux))
    assert 0 <= in_linux - in_simulator <= 2
    # The simulator records every RTT; on Linux, only those that change the smoothed RTT are visible.
    [[in_simulator], [in_linux]] = (counts(tables, "rtt_mean_ms") for tables in (simulated, linux))
    assert in_linux == pytest.approx(in_simulator, rel=0.03)


@pytest.mark.parametrize("network", ["driver", "tun"])
def test_links_report_the_same_columns_as_in_the_simulator(network: str):
    run = a_run({**ELEMENTS["arq"], "kind": "arq"})
    simulated, linux = (
        tables["links"].sort("link", "time_s") for tables in (engine("sim").execute(run), over(network, run))
    )
    assert linux["link"].to_list() == simulated["link"].to_list()
    last = linux.filter(pl.col("time_s") == 5.0)
    for row in last.iter_rows(named=True):
        in_transmission = row["arrived_packets"] - row["delivered_packets"] - row["dropped_packets"]
        assert in_transmission - row["backlog_packets"] in (0, 1)
    for column, tolerance in {"mean_backlog_packets": 0.5, "utilisation": 0.05}.items():
        difference = (linux[column] - simulated[column]).abs().max()
        assert isinstance(difference, float)
        assert difference < tolerance, column


@pytest.mark.parametrize(
    "flows", [[{"algorithm": "reno"}], [{"algorithm": "cubic"}, {"algorithm": "reno", "start": "1 s"}]]
)
def test_the_fifo_of_linux_and_of_the_simulator_agree(flows: list[dict[str, Any]]):
    """Linux's shaper releases a packet when its transmission begins; when idle, it has credit for a packet.

    The two differ by at most the time of a packet, 0.6 of 20 ms, and only after idle times.
    """
    path = {"rate": "20 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}}
    settings = {"duration": "15 s", "repetitions": 1, "path": path, "flows": flows}
    [planned] = Scenario.from_dict(settings).runs()
    disciplines, elements = (over(network, planned.run)["flows"] for network in ("qdisc", "driver"))
    assert elements["goodput_bit_per_s"].sum() == pytest.approx(
        disciplines["goodput_bit_per_s"].sum(), rel=0.001
    )
    for flow in range(len(flows)):
        for column, tolerance in {"goodput_bit_per_s": 0.02, "rtt_mean_ms": 0.01, "rtt_p95_ms": 0.01}.items():
            assert elements[column][flow] == pytest.approx(disciplines[column][flow], rel=tolerance), column
        assert abs(elements["dropped_packets"][flow] - disciplines["dropped_packets"][flow]) <= 5


@pytest.mark.parametrize("profile", profiles())
def test_every_profile_runs(profile: str):
    # A second on the fastest path is a million packets.
    duration = "30 ms" if profile == "datacenter" else "2 s"
    settings = {
        "duration": duration,
        "repetitions": 1,
        "steady": {"from": "0 s"},
        "path": {"profile": profile},
        "flows": [{"algorithm": "cubic", "sender": {"ecn": True}}],
    }
    [planned] = Scenario.from_dict(settings).runs()
    simulated, linux = (engine(name).execute(planned.run)["flows"] for name in ("sim", "kernel"))
    assert linux["delivered_bytes"][0] == pytest.approx(simulated["delivered_bytes"][0], rel=0.2)
    assert linux["delivered_bytes"][0] > 0


def test_ten_gigabits_a_second_agree_to_the_packet():
    """The numbers are those of decision 0016: packets take 1.2 µs, and the queue marks above 65 of them."""
    path = {"profile": "datacenter"}
    flows = [{"algorithm": "cubic", "sender": {"ecn": True}}]
    [planned] = Scenario.from_dict(
        {"duration": "30 ms", "repetitions": 1, "steady": {"from": "0 s"}, "path": path, "flows": flows}
    ).runs()
    for tables in (engine("sim").execute(planned.run), over("driver", planned.run)):
        marked = tables["links"].filter(pl.col("link") == "bottleneck")["marked_packets"].max()
        assert (*counts(tables, "sent_packets", "dropped_packets"), marked) == (24_741, 0, 511)


@pytest.mark.parametrize(
    "queue",
    [
        {"kind": "dualpi2"},
        {"kind": "threshold", "mark_above_packets": 10},
        {"kind": "fifo", "limit_packets": 30, "limit_bytes": 40_000},
    ],
)
@pytest.mark.parametrize("network", ["driver", "mixed"])
def test_queues_that_linux_lacks_are_the_simulators(network: str, queue: dict[str, Any]):
    run = a_run({"kind": "delay", "delay_ns": 0}, algorithm="dctcp", ecn=True)
    run["elements"][1]["queue"] = queue
    simulated, linux = engine("sim").execute(run), over(network, run)
    in_simulator, in_linux = (
        tables["links"].filter(pl.col("link") == "forward").row(-1, named=True)
        for tables in (simulated, linux)
    )
    # The queue has signalled congestion.
    assert in_simulator["marked_packets"] + in_simulator["dropped_packets"] > 0
    assert in_linux["marked_packets"] == pytest.approx(in_simulator["marked_packets"], rel=0.1, abs=5)
    assert in_linux["dropped_packets"] == pytest.approx(in_simulator["dropped_packets"], rel=0.1, abs=4)


@pytest.mark.parametrize("network", ["driver", "tun"])
def test_equal_runs_give_equal_bytes(network: str):
    run = a_run({"kind": "wifi", **ELEMENTS["wifi"]})
    once, again = over(network, run), over(network, run)
    for name, table in once.items():
        assert table.equals(again[name]), name


def test_the_datapath_is_reported():
    assert KernelEngine().about()["network"] == "driver"
    assert KernelEngine(network="tun").about()["network"] == "tun"
    assert NamespacesEngine().about()["network"] == "mixed"


@pytest.mark.parametrize("network", NETWORKS[1:])
def test_a_named_datapath_is_used(network: str):
    assert datapath(network, DRIVER) == network


def test_the_best_datapath_is_that_of_the_machine():
    assert datapath(AUTO, DRIVER) == DRIVER
    assert datapath(AUTO, MIXED) == MIXED


def test_the_driver_is_refused_where_no_kernel_has_it():
    message = 'network="driver": only kernels that Tussle built have the driver; give mixed, qdisc or tun'
    with pytest.raises(TussleError, match=re.escape(message)):
        datapath(DRIVER, MIXED)


def test_runs_that_disciplines_alone_lack_are_refused():
    run = a_run({"kind": "loss_periodic", **ELEMENTS["loss_periodic"]})
    with pytest.raises(TussleError, match=r"^elements\.0: Linux has no loss_periodic; it has link, "):
        KernelEngine(network="qdisc").check(run)


PATH_EVENTS = ["drop", "corrupt", "path_change"]


def path_events(tables: dict[str, pl.DataFrame]) -> list[tuple[Any, ...]]:
    happened = tables["events"].filter(pl.col("kind").is_in(PATH_EVENTS), pl.col("time_s") < 4.9)
    return happened.select("kind", "flow", pl.col("link").cast(pl.String), "packet").rows()


@pytest.mark.parametrize("kind", ["link", "loss", "gilbert_elliott", "loss_list", "corrupt"])
def test_losses_on_the_path_are_reported_as_by_the_simulator(kind: str):
    """Each dropped packet with its link, each damaged packet, and each change of the path."""
    run = a_run({**ELEMENTS[kind], "kind": kind})
    run["record"]["events"] = True
    simulated = path_events(engine("sim").execute(run))
    assert simulated
    assert path_events(over("driver", run)) == simulated
