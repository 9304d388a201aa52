"""The page on default hosts states what Linux does today."""

import re
from pathlib import Path

import pytest

from tussle.engines.kernel import KernelEngine
from tussle.scenario import Scenario

PAGE = Path(__file__).parents[2] / "docs/explanation/default-host.md"
RMEM, WMEM = "4096 131072 6291456", "4096 16384 4194304"

pytestmark = [pytest.mark.usefixtures("kernel"), pytest.mark.slow]


@pytest.mark.parametrize(
    ("hosts", "sentence"),
    [
        ({}, "the pair {} and {} Mbit/s, and two CUBIC"),
        ({"rmem": RMEM}, "The pair: {} and {} Mbit/s. Half of 6 MiB"),
        ({"rmem": RMEM, "wmem": WMEM}, "With both buffers the pair gets {} and {} Mbit/s"),
    ],
    ids=["bare", "rmem", "both buffers"],
)
def test_the_page_states_the_goodputs_of_the_pair(hosts: dict[str, str], sentence: str):
    tables = {
        "duration": "30 s",
        "steady": {"from": "10 s"},
        "path": {"rate": "100 Mbit/s", "rtt": "40 ms", "queue": {"limit": "1 bdp"}},
        "hosts": hosts,
        "flows": [{"algorithm": "cubic"}, {"algorithm": "reno", "start": "1 s"}],
    }
    [planned, *_] = Scenario.from_dict(tables).runs()
    goodputs = KernelEngine(network="qdisc").execute(planned.run)["flows"]["goodput_bit_per_s"]
    stated = sentence.format(*(f"{each / 1e6:.2f}" for each in goodputs))
    assert stated in re.sub(r"\s+", " ", PAGE.read_text("utf-8"))
