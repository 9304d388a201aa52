"""Speed of the kernel engine: virtual time over wall time, and memory of a guest (see README.md)."""

from __future__ import annotations

import resource
import statistics
import sys
import time
from collections.abc import Mapping
from typing import Any, NamedTuple

from tussle.engines.kernel import KernelEngine
from tussle.errors import TussleError
from tussle.scenario import Scenario

ROUNDS = 3


class Case(NamedTuple):
    """CUBIC and Reno in turn over one bottleneck, each a tenth of a second after the one before."""

    name: str
    flows: int
    rate: str
    rtt: str
    duration: str
    network: str = "driver"
    offloads: bool = False

    def run(self) -> Mapping[str, Any]:
        """Return the run of this case."""
        algorithms = ("cubic", "reno")
        flows = [{"algorithm": algorithms[i % 2], "start": f"{100 * i} ms"} for i in range(self.flows)]
        tables = {"duration": self.duration, "path": {"rate": self.rate, "rtt": self.rtt}, "flows": flows}
        [planned] = Scenario.from_dict(tables | {"hosts": {"offloads": self.offloads}}).runs()
        return planned.run


PAIR = Case("a pair at 100 Mbit/s, 20 ms", 2, "100 Mbit/s", "20 ms", "41 s")
CASES = [
    PAIR,
    Case("a pair at 1 Gbit/s, 50 ms", 2, "1 Gbit/s", "50 ms", "11 s"),
    Case("ten flows at 1 Gbit/s, 50 ms", 10, "1 Gbit/s", "50 ms", "11 s"),
    Case("a pair at 1 Mbit/s, 100 ms", 2, "1 Mbit/s", "100 ms", "100 s"),
    PAIR._replace(name="the first with offloads", offloads=True),
    Case("ten flows with offloads", 10, "1 Gbit/s", "50 ms", "11 s", offloads=True),
    PAIR._replace(name="the first over disciplines", network="qdisc"),
    PAIR._replace(name="the first over TUN devices", network="tun", duration="5 s"),
]


def main() -> None:
    """Print one line for each case."""
    sys.stdout.write("kernel engine, boot included; medians\n")
    for case in CASES:
        try:
            sys.stdout.write(f"  {case.name:<28} {measured(case)}\n")
        except TussleError as missing:
            sys.stdout.write(f"  not measured: {missing}\n")
            return


def measured(case: Case) -> str:
    """Execute a case `ROUNDS` times; return its speed and the guest's memory as text."""
    run = case.run()
    wall_s, cpu_s = [], []
    for _ in range(ROUNDS):
        began, before = time.perf_counter(), children_s()
        KernelEngine(network=case.network).execute(run)
        wall_s.append(time.perf_counter() - began)
        cpu_s.append(children_s() - before)
    virtual_s = run["duration_ns"] / 1e9
    peak_mb = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss / 1024
    return (
        f"{virtual_s / statistics.median(wall_s):5.1f} times real time, "
        f"{virtual_s / statistics.median(cpu_s):5.1f} a processor; guest at most {peak_mb:.0f} MB"
    )


def children_s() -> float:
    """Return the processor time of child processes that have ended."""
    used = resource.getrusage(resource.RUSAGE_CHILDREN)
    return used.ru_utime + used.ru_stime


if __name__ == "__main__":
    main()
