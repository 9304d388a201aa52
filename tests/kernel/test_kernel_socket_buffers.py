"""Buffers of sockets on the kernel engine: autotuning of Linux, and limits of flows, as in the simulator."""

from typing import Any

import pytest

from tussle.engines import engine
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

SHIPPED = {"rmem": "4096 131072 6291456", "wmem": "4096 16384 4194304"}


def both(path: dict[str, Any], hosts: dict[str, Any], *algorithms: str, **more: Any) -> list[dict[str, Any]]:
    """Return the tables of a run on Linux and on the simulator; a second flow starts after 1 s."""
    flows = [{"algorithm": name, "start": f"{index} s"} for index, name in enumerate(algorithms)]
    scenario = {"duration": "15 s", "steady": {"from": "0 s"}, "path": path, "hosts": hosts, "flows": flows}
    [planned] = Scenario.from_dict(scenario | {"repetitions": 1} | more).runs()
    return [engine(name).execute(planned.run) for name in ("kernel", "sim")]


@pytest.mark.parametrize("algorithm", ["reno", "cubic"])
@pytest.mark.parametrize(
    ("rate", "rtt"), [("10 Mbit/s", "200 ms"), ("100 Mbit/s", "10 ms"), ("100 Mbit/s", "60 ms")]
)
def test_a_flow_between_shipped_hosts_counts_as_in_the_simulator(algorithm: str, rate: str, rtt: str):
    linux, simulated = both({"rate": rate, "rtt": rtt, "queue": {"limit": "1 bdp"}}, SHIPPED, algorithm)
    for column, tolerance in (("goodput_bit_per_s", 0.002), ("rtt_mean_ms", 0.02), ("sent_packets", 0.002)):
        found, expected = (tables["flows"][column][0] for tables in (linux, simulated))
        assert found == pytest.approx(expected, rel=tolerance), column


LIMITS: list[tuple[dict[str, Any], str]] = [
    (SHIPPED, "steady_sndbuf_limited_s"),
    ({"rmem": "4096 131072 2097152"}, "steady_rwnd_limited_s"),
    ({"rmem": "4096 131072 6291456", "receive_window": "300 kB"}, "steady_rwnd_limited_s"),
    ({"wmem": "4096 16384 500000"}, "steady_sndbuf_limited_s"),
]


@pytest.mark.parametrize(("hosts", "column"), LIMITS)
def test_a_long_path_is_limited_by_the_smaller_buffer(hosts: dict[str, Any], column: str):
    path = {"rate": "100 Mbit/s", "rtt": "250 ms", "queue": {"limit": "1 bdp"}}
    linux, simulated = (tables["flows"] for tables in both(path, hosts, "cubic", steady={"from": "5 s"}))
    assert linux["goodput_bit_per_s"][0] == pytest.approx(simulated["goodput_bit_per_s"][0], rel=0.01)
    assert simulated[column][0] > 2
    assert linux[column][0] == pytest.approx(simulated[column][0], rel=0.1)
