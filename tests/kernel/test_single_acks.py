"""Two flows that lock in phase, which an ACK of a single packet would end."""

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
    first, second = goodputs_of_hybla(KernelEngine(), {"receive_window": "3 MB"})
    assert first == pytest.approx(second, rel=0.1)
