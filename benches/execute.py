"""Executes the run on standard input through the Python package, and prints what it cost as JSON.

Times only the call: the start of the interpreter is paid once a worker, not once a run.
"""

from __future__ import annotations

import json
import resource
import sys
import time

from tussle import _core


def cpu_s() -> float:
    """User and system time of this process until now, in seconds."""
    usage = resource.getrusage(resource.RUSAGE_SELF)
    return usage.ru_utime + usage.ru_stime


def main() -> None:
    """Read, execute, print."""
    run = sys.stdin.read()
    wall, cpu = time.perf_counter(), cpu_s()
    tables = _core.execute(run)
    wall, cpu = time.perf_counter() - wall, cpu_s() - cpu

    import polars as pl  # after the clock has stopped

    links = pl.DataFrame(tables["links"]).filter(pl.col("link") == "bottleneck")
    flows = pl.DataFrame(tables["flows"])
    result = {
        "delivered_packets": int(links["delivered_packets"][-1]),
        "retransmitted_packets": int(flows["retransmitted_packets"].sum()),
        "cpu_s": cpu,
        "wall_s": wall,
    }
    sys.stdout.write(f"{json.dumps(result)}\n")


if __name__ == "__main__":
    main()
