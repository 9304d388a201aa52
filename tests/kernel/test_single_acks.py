"""ACKs of single packets, which a receiver in Linux sends where an application has read everything."""

import re
from pathlib import Path

import pytest

from tussle.engines import Engine
from tussle.engines.kernel import KernelEngine
from tussle.engines.sim import ENGINE
from tussle.scenario import Scenario

DOCS = Path(__file__).parents[2] / "docs"


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
def test_two_flows_of_hybla_lock_in_phase_in_the_simulator_and_not_on_linux():
    simulated, on_linux = (goodputs_of_hybla(engine, {}) for engine in (ENGINE, KernelEngine()))
    stated = (
        f"get {simulated[0]:.0f} and {simulated[1]:.0f} Mbit/s in the simulator and "
        f"{on_linux[0]:.0f} and {on_linux[1]:.0f} on Linux (the last 15 of 50 s)"
    )
    assert stated in re.sub(r"\s+", " ", (DOCS / "deviations" / "sender.toml").read_text("utf-8"))
    assert simulated[0] < simulated[1] / 3
    assert on_linux[0] == pytest.approx(on_linux[1], rel=0.1)


@pytest.mark.slow
@pytest.mark.usefixtures("kernel")
def test_they_do_not_where_the_application_reads_each_packet():
    first, second = goodputs_of_hybla(KernelEngine(), {"receive_window": "3 MB"})
    assert first == pytest.approx(second, rel=0.1)
