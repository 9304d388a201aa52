"""Instructions per data packet, counted by callgrind: reproducible, unlike time."""

from __future__ import annotations

import os
import platform
import re
import shutil
import subprocess
import tomllib
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor
from dataclasses import dataclass
from pathlib import Path

from cases import Case
from engines import BUILD, ROOT, TUSSLE, MissingError
from measure import FailedError, Job, measure

BOUNDS = Path(__file__).parent / "bounds.toml"
WRITE = "benches/bench.py --instructions --write-bounds"
SLACK = 0.03
"""Relative difference allowed between a count and its bound. Two runs differ by less than a millionth."""
OTHER_COMPILER_SLACK = 0.15
"""Relative difference allowed if the simulator was built by another compiler than for the bounds."""


@dataclass(frozen=True)
class Counted:
    """Instructions executed for `packets` data packets, counted after `start_packets` of the case."""

    case: Case
    instructions: int
    packets: int
    profile: Path

    @property
    def per_packet(self) -> float:
        """Instructions for each data packet."""
        return self.instructions / self.packets

    def line(self) -> str:
        """Return the count as text, with the command that shows the profile."""
        return (
            f"{self.case.name}: {self.per_packet:,.1f} instructions for each of {self.packets:,} data packets"
            f"; where: callgrind_annotate {self.profile.relative_to(ROOT)}"
        )


def counts_of(cases: Iterable[Case]) -> dict[str, Counted]:
    """Count cases on all cores; return the counts by the cases' names, or none without valgrind."""
    if shutil.which("valgrind") is None:
        return {}
    TUSSLE.find()  # once, rather than in each thread
    with ThreadPoolExecutor(os.cpu_count()) as pool:
        return {counted.case.name: counted for counted in pool.map(count, cases)}


def count(case: Case) -> Counted:
    """Count a case; raises `MissingError` without valgrind or compiler, `FailedError` if the run fails."""
    return counted_job(case, Job([*TUSSLE.find(), str(case.start_packets)], case.run_json()))


def counted_job(case: Case, job: Job) -> Counted:
    """Run a program under callgrind; count the instructions in its function `measured`."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        raise MissingError("valgrind is not installed: apt-get install valgrind")
    BUILD.mkdir(parents=True, exist_ok=True)
    profile = BUILD / f"callgrind.{re.sub(r'[^a-z0-9]+', '-', case.name)}.out"
    options = [
        "--quiet",
        "--tool=callgrind",
        "--toggle-collect=*::measured*",
        f"--callgrind-out-file={profile}",
    ]
    packets = measure(Job([valgrind, *options, *job.command], job.stdin)).measured_packets
    return Counted(case, _total(profile.read_text()), packets, profile)


def compiler() -> str:
    """Return the version of rustc and the processor architecture."""
    done = subprocess.run(["rustc", "--version"], cwd=ROOT, capture_output=True, text=True, check=True)  # noqa: S607
    return f"{done.stdout.split()[1]} {platform.machine()}"


def write_bounds(counts: list[Counted]) -> None:
    """Store counts as the bounds that later counts are compared with."""
    lines = [
        "# Instructions for each data packet, as callgrind counts them. `make test` fails where a count is",
        f"# more than {SLACK:.0%} away, up or down. Written by `.venv/bin/python {WRITE}`.",
        "",
        f'compiler = "{compiler()}"',
        "",
        "[instructions]",
        *(f'"{each.case.name}" = {each.per_packet:.1f}' for each in counts),
    ]
    BOUNDS.write_text("\n".join(lines) + "\n")


def complaint(counted: Counted) -> str:
    """Return how far a count is from its bound and what to do about it; empty if it is within the slack."""
    stored = tomllib.loads(BOUNDS.read_text())
    bound = stored["instructions"].get(counted.case.name)
    if bound is None:
        return f"{counted.case.name}: has no bound in {BOUNDS.name}; write it: {WRITE}"
    change = counted.per_packet / bound - 1
    is_known = stored["compiler"] == compiler()
    if abs(change) <= (SLACK if is_known else OTHER_COMPILER_SLACK):
        return ""
    built = "" if is_known else f" (by {compiler()}; the bound is of {stored['compiler']})"
    advice = (
        f"if that is worth it, say why in the commit that stores it: {WRITE}"
        if change > 0
        else f"store it, so that it stays: {WRITE}"
    )
    return (
        f"{counted.case.name}: {counted.per_packet:,.1f} instructions a data packet{built}, "
        f"{abs(change):.1%} {'more' if change > 0 else 'fewer'} than {bound:,.1f} in {BOUNDS.name}; {advice}"
    )


def _total(profile: str) -> int:
    """Return the sum that callgrind writes on the line `totals:` or `summary:`."""
    for line in profile.splitlines():
        if line.startswith(("totals:", "summary:")):
            return int(line.split()[1])
    raise FailedError("callgrind wrote no total")
