"""Overhead of a short run on a Dask cluster (see README.md)."""

from __future__ import annotations

import argparse
import resource
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tussle.scenario import Scenario
from tussle.sweep import Silent, SweepSettings, sweep

SCENARIO = {
    "question": "How large is the overhead of a very short run?",
    "duration": "0.1 s",
    "start_jitter": "1 ms",
    "path": {"rate": "1 Mbit/s", "rtt": "20 ms"},
    "flows": [{"algorithm": "reno"}],
}
POINTS = 100
"""Number of rates, from 1 Mbit/s in steps of 10 kbit/s."""
WORKERS = 2
_HOUR_S = 3600


def main() -> None:
    """Print the cost of each stage of a sweep of short runs."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--runs", type=int, default=100_000, help="how many (100 000)")
    arguments = parser.parse_args()
    rates = [f"{1000 + 10 * point} kbit/s" for point in range(POINTS)]
    tables = SCENARIO | {"repetitions": max(1, arguments.runs // POINTS)}
    tables["path"] = {**SCENARIO["path"], "rate": rates}
    with tempfile.TemporaryDirectory(prefix="tussle-") as name:
        folder = Path(name)
        with local_cluster(folder) as processes:
            stages = Stages(processes)
            scenario = Scenario.from_dict(tables)
            settings = SweepSettings(cluster=str(folder / "scheduler.json"), progress=stages)
            dataset = sweep(scenario, folder / "out", settings)
            stages.end("tables")
        files = sum(1 for path in dataset.folder.rglob("*.parquet"))
        size = sum(path.stat().st_size for path in dataset.folder.rglob("*.parquet"))
    report(stages, f"{stages.runs} runs, {files} Parquet files, {size / stages.runs:.0f} bytes a run")


@dataclass
class Usage:
    """Seconds so far: of the wall clock, and of processor time by process."""

    wall_s: float
    cpu_s: dict[str, float]


@dataclass
class Stages(Silent):
    """Time that each stage of a sweep used, recorded when the sweep reports progress."""

    processes: dict[str, psutil.Process]
    used: dict[str, Usage] = field(default_factory=dict)
    runs: int = 0
    before: Usage = field(init=False)

    def __post_init__(self) -> None:
        self.before = usage(self.processes)

    def end(self, stage: str) -> None:
        """Record the time used since the last stage ended."""
        now = usage(self.processes)
        cpu_s = {who: now.cpu_s[who] - self.before.cpu_s[who] for who in now.cpu_s}
        self.used[stage] = Usage(now.wall_s - self.before.wall_s, cpu_s)
        self.before = now

    def begin(self, total: int, finished: int) -> None:  # noqa: ARG002 (nothing is finished before)
        """Measure the planning, when all runs are planned and checked."""
        self.runs = total
        self.end("plan")

    def merge(self) -> None:
        """Measure the execution, when all runs are executed."""
        self.end("runs")


def usage(processes: dict[str, psutil.Process]) -> Usage:
    """Return the time used so far."""
    return Usage(time.perf_counter(), {who: cpu_s(process) for who, process in processes.items()})


def cpu_s(process: psutil.Process) -> float:
    """Return the processor time of a process and of its descendants."""
    times = [each.cpu_times() for each in (process, *process.children(recursive=True))]
    return sum(each.user + each.system for each in times)


@contextmanager
def local_cluster(folder: Path) -> Iterator[dict[str, psutil.Process]]:
    """Start a scheduler and its workers as processes of their own; yield them and this process, by name."""
    found = folder / "scheduler.json"
    commands = {
        "scheduler": ["scheduler", "--no-dashboard", "--host", "127.0.0.1", "--port", "0"],
        "workers": ["worker", "--nworkers", str(WORKERS), "--nthreads", "1", "--no-dashboard"],
    }
    started: dict[str, subprocess.Popen[bytes]] = {}
    with (folder / "log").open("wb") as log:
        try:
            for who, words in commands.items():
                command = [sys.executable, "-m", "dask", *words, "--scheduler-file", str(found)]
                started[who] = subprocess.Popen(command, stdout=log, stderr=log, cwd=folder)  # noqa: S603 (ours)
                while not found.exists():
                    time.sleep(0.05)
            processes = {who: psutil.Process(process.pid) for who, process in started.items()}
            yield processes | {"this process": _Alone()}
        finally:
            for process in reversed(started.values()):
                process.terminate()
                process.wait()


class _Alone(psutil.Process):
    """The current process without its descendants."""

    def children(self, recursive: bool = False) -> list[psutil.Process]:  # noqa: ARG002, FBT001, FBT002 (as psutil has it)
        return []


def report(stages: Stages, title: str) -> None:
    """Print the cost of a run, stage by stage, and the scheduler's share for an hour of work."""
    _say(f"{title}; {WORKERS} workers on one machine\n")
    _say(f"{'a run, in µs':14}{'wall':>9}" + "".join(f"{who:>15}" for who in stages.processes))
    for stage, used in stages.used.items():
        each = [used.wall_s, *used.cpu_s.values()]
        numbers = [f"{seconds / stages.runs * 1e6:.0f}" for seconds in each]
        _say(f"{stage:14}{numbers[0]:>9}" + "".join(f"{number:>15}" for number in numbers[1:]))
    work = stages.used["runs"].cpu_s
    share = work["scheduler"] / work["workers"]
    _say(f"\nan hour of the workers' work costs the scheduler {share * _HOUR_S:.0f} s: {share:.1%}")
    peak_mb = resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024
    _say(
        f"this process had {peak_mb:.0f} MB at most; wall {sum(u.wall_s for u in stages.used.values()):.0f} s"
    )


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


if __name__ == "__main__":
    main()
