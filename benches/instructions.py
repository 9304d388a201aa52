"""Instructions for each data packet, counted by callgrind: the same on every repetition, unlike time."""

from __future__ import annotations

import shutil

from cases import Case
from engines import BUILD, ROOT, TUSSLE, MissingError
from measure import FailedError, Job, measure

COUNTED_PACKETS = 1_000_000
"""Roughly how many data packets to count over: callgrind is some fifty times slower than the processor."""


def report(case: Case) -> str:
    """One line for one case: the count, or why there is none."""
    valgrind = shutil.which("valgrind")
    if valgrind is None:
        return f"{case.name}: valgrind is not installed: apt-get install valgrind"
    seconds = COUNTED_PACKETS * 1500 * 8 // case.rate_bit_per_s
    counted = case.lasting(float(seconds))
    BUILD.mkdir(parents=True, exist_ok=True)
    profile = BUILD / f"callgrind.{case.flows}.out"
    try:
        command = [valgrind, "--tool=callgrind", f"--callgrind-out-file={profile}", *TUSSLE.find()]
        packets = measure(Job(command, counted.run_json())).delivered_packets
    except (MissingError, FailedError) as reason:
        return f"{case.name}: {reason}"
    instructions = _total(profile.read_text())
    return (
        f"{case.name}: {instructions / packets:,.0f} instructions for each of {packets:,} data packets"
        f" ({counted.duration_s:g} s simulated); where: callgrind_annotate {profile.relative_to(ROOT)}"
    )


def _total(profile: str) -> int:
    """Return the sum that callgrind writes on the line `totals:` or `summary:`."""
    for line in profile.splitlines():
        if line.startswith(("totals:", "summary:")):
            return int(line.split()[1])
    raise FailedError("callgrind wrote no total")
