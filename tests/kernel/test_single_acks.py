"""ACKs of single packets: two flows lock in phase without them, and LP takes a delayed one for a queue."""

import pytest

from tussle.engines import Engine
from tussle.engines.kernel import KernelEngine
from tussle.engines.sim import ENGINE
from tussle.scenario import Scenario


def goodputs_of_hybla(engine: Engine, hosts: dict[str, str]) -> tuple[float, float]:
    """Mbit/s of two flows of Hybla on a LAN, in the last 15 of 50 s."""
    tables = {
        "duration": "50 s",
        "steady": {"from": "35 s"},
        "start_jitter": "100 ms",
        "path": {"rate": "1 Gbit/s", "rtt": "0.2 ms", "queue": {"limit": "300 kB"}},
        "hosts": {"timestamps": "synchronised", **hosts},
        "flows": [
            {"name": "background", "algorithm": "hybla"},
            {"name": "main", "algorithm": "hybla", "start": "10 s"},
        ],
    }
    [planned, *_] = Scenario.from_dict(tables).runs()
    first, second = engine.execute(planned.run)["flows"]["goodput_bit_per_s"].to_list()
    return first / 1e6, second / 1e6


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
def test_two_flows_of_hybla_lock_in_phase_on_both_engines():
    simulated, on_linux = (goodputs_of_hybla(engine, {}) for engine in (ENGINE, KernelEngine()))
    assert simulated == pytest.approx(on_linux, rel=1e-3)
    assert simulated[0] < simulated[1] / 3


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
def test_they_do_not_where_the_application_reads_each_packet():
    simulated, on_linux = (
        goodputs_of_hybla(engine, {"receive_window": "3 MB"}) for engine in (ENGINE, KernelEngine())
    )
    assert simulated == pytest.approx(on_linux, rel=1e-2)
    assert on_linux[0] == pytest.approx(on_linux[1], rel=0.1)


def goodput_of_lp(engine: Engine, window: str) -> float:
    """Mbit/s of one flow of LP, which takes a delayed ACK for a queue."""
    tables = {
        "duration": "5 s",
        "path": {"rate": "1 Gbit/s", "rtt": "100 ms", "queue": {"limit": "1 bdp"}},
        "hosts": {"timestamps": "synchronised", "receive_window": window},
        "flows": [{"algorithm": "lp"}],
    }
    [planned, *_] = Scenario.from_dict(tables).runs()
    [goodput] = engine.execute(planned.run)["flows"]["goodput_bit_per_s"].to_list()
    return goodput / 1e6


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize("window", ["100 kB", "512 kB"])
def test_a_packet_before_which_a_bulk_sender_pauses_is_acknowledged_alone_on_both_engines(window: str):
    simulated, on_linux = (goodput_of_lp(engine, window) for engine in (ENGINE, KernelEngine()))
    assert simulated == pytest.approx(on_linux, rel=1e-6)
    assert on_linux > 1
