"""Where a guest of the kernel engine spends its processor time, sampled by `perf` (see README.md)."""

from __future__ import annotations

import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from pathlib import Path

from tussle.engines.kernel import KernelEngine
from virtual_time import CASES

ROOT = Path(__file__).resolve().parent.parent
SAMPLES_PER_S = 1999
PROFILED = (0, 2, 5)
"""Indices in `CASES`."""

HOST = "the host: system calls, switches to programs of the guest, page faults"
REST = "TCP, IP and devices"
DRIVER = re.findall(
    r"^static \w[\w* ]*?[ *](\w+)\(", (ROOT / "kernel/driver/tussle.c").read_text("utf-8"), re.MULTILINE
)
GROUPS = {
    "the path: driver, elements and queues": rf"tussle|core::|alloc::|^({'|'.join(DRIVER)})$",
    "memory of packets: allocate, copy, free": (
        r"^(memset|memcpy|memmove|do_op_one_page|copy_chunk|csum_|__free|free_)|slab|kmem_cache|kmalloc|kfree"
        r"|alloc_(skb|pages)|skb_(release|clone|segment)|build_skb|rmqueue|page_frag|copy_.*user|_copy_"
    ),
    "traces of RTTs and states": r"trace_event|^trace_|ring_buffer|^filter_|^rb_reserve|^rb_commit|perf_",
    "virtual time: timers, interrupts, idling": (
        r"time_travel|timer|tick_|irq|signal|clock|ktime|idle|^rb_|sched|alarm|fast_mix"
    ),
}
"""Pattern of the functions of each group; the first match counts."""


def main() -> None:
    """Print the share of each group in each case; with an index as the argument, execute that case."""
    if len(sys.argv) > 1:
        KernelEngine().execute(CASES[int(sys.argv[1])].run())
        return
    if shutil.which("perf") is None:
        sys.exit("guest_profile.py needs `perf`; Debian has it in the package linux-perf")
    for index in PROFILED:
        samples = profile(index)
        sys.stdout.write(f"{CASES[index].name}\n")
        for group in (REST, *GROUPS, HOST):
            sys.stdout.write(f"  {samples[group] / samples.total():4.0%}  {group}\n")


def profile(index: int) -> Counter[str]:
    """Return the number of samples of each group in the guest of a case."""
    with tempfile.TemporaryDirectory() as folder:
        data = str(Path(folder) / "perf.data")
        recorder = ["perf", "record", "--quiet", "-F", str(SAMPLES_PER_S), "-e", "cpu-clock", "-o", data]
        subprocess.run([*recorder, "--", sys.executable, __file__, str(index)], check=True)  # noqa: S603 (this file)
        reporter = [
            "perf",
            "report",
            "-i",
            data,
            "--comm",
            "linux",
            "-F",
            "sample,symbol",
            "-t",
            ";",
            "--stdio",
        ]
        report = subprocess.run(reporter, check=True, capture_output=True, text=True).stdout  # noqa: S603
    samples: Counter[str] = Counter()
    for line in report.splitlines():
        if found := re.match(r" *(\d+) *;\[(.)\] (.*)", line):
            count, space, function = found.groups()
            samples[HOST if space == "k" else group_of(function.strip())] += int(count)
    return samples


def group_of(function: str) -> str:
    """Return the group of a function of the guest's kernel."""
    return next((group for group, pattern in GROUPS.items() if re.search(pattern, function)), REST)


if __name__ == "__main__":
    main()
