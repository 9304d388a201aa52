"""Instructions of each part of the simulator, as callgrind profiles them."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import replace
from pathlib import Path
from statistics import median
from typing import Any

from cases import COUNTED, PACKET_BYTES, Case
from engines import TUSSLE, build_example
from instructions import count, counted_job
from measure import Job, measure

PARTS = {
    "the loop": r"/src/sim(\.rs|/)",
    "calendar": r"/src/util/calendar\.rs",
    "links and their queues": r"/src/(net/|util/ring_buffer\.rs)",
    "receiver": r"/src/tcp/(receiver|receive_buffer|delack|merging|sack_list|receiver_rtt)\.rs",
    "sender": r"/src/(tcp/|util/windowed\.rs)",
    "algorithm": r"/src/cc/",
    "what is recorded": r"/src/record/",
}
"""Pattern of each part's file names; the first match counts."""
COPIES = "copies of packets (memcpy)"
OTHER = "all else"

FLOOR_PACKETS = 1_000_000
TIMED_S = 500.0

_NAMED = re.compile(r"(?P<key>c?(?:fl|fi|fe|fn)|c?ob)=(?:\((?P<id>\d+)\))?(?: ?(?P<name>.+))?")


def rows(rounds: int) -> dict[str, Any]:
    """Return the instructions per packet of each part, for one flow and for ten, and the floor."""
    found: dict[str, Any] = {}
    for case in COUNTED[:2]:
        counted = count(case)
        shares = {part: sum_ / counted.packets for part, sum_ in parts(counted.profile).items()}
        found[case.name] = {"instructions": shares, "floor": _floor(case, rounds)}
    return found


def _floor(case: Case, rounds: int) -> dict[str, float]:
    """Measure the floor, which only moves as many packets, and the simulator in the same rounds."""
    floor = [build_example("floor"), str(2 * case.buffer_packets)]
    counted = counted_job(replace(case, name=f"floor {case.name}"), Job([*floor, str(FLOOR_PACKETS)]))
    timed = case.lasting(TIMED_S * COUNTED[0].rate_bit_per_s / case.rate_bit_per_s)
    packets = round(timed.duration_s * timed.rate_bit_per_s / (8 * PACKET_BYTES))
    times_ns: list[tuple[float, float]] = []
    for _ in range(rounds):
        moved = measure(Job([*floor, str(packets)]))
        simulated = measure(Job(TUSSLE.find(), timed.run_json()))
        times_ns.append((1e9 * moved.cpu_s / moved.measured_packets, 1e9 / simulated.packets_per_cpu_s))
    return {
        "instructions": counted.per_packet,
        "time_ns": median(floor_ns for floor_ns, _ in times_ns),
        "simulator_time_ns": median(simulator_ns for _, simulator_ns in times_ns),
    }


def parts(profile: Path) -> dict[str, int]:
    """Return the instructions of each part without those of its callees, largest first.

    Code of the standard library that is inlined into a function counts towards that function.
    """
    names: dict[tuple[str, str], str] = {}
    sums: Counter[str] = Counter()
    function_file = file = function = ""
    is_call = False
    for line in profile.read_text().splitlines():
        if named := _NAMED.match(line):
            key = named["key"].removeprefix("c")
            kind = "file" if key in ("fl", "fi", "fe") else key
            name = _resolved(names, (kind, named["id"] or ""), named["name"])
            if named["key"] == "fl":
                function_file = file = name
            elif named["key"] in ("fi", "fe"):
                file = name
            elif named["key"] == "fn":
                function = name
        elif line.startswith("calls="):
            is_call = True
        elif line[:1].isdigit() or line[:1] in ("+", "-", "*"):
            if not is_call:
                sums[_part(function, (file, function_file))] += int(line.split()[1])
            is_call = False
    return dict(sums.most_common())


def _resolved(names: dict[tuple[str, str], str], key: tuple[str, str], name: str | None) -> str:
    """Resolve callgrind's name compression: a name is written once with a number, then only the number."""
    if name:
        names[key] = name
    return names.get(key, name or "")


def _part(function: str, files: tuple[str, str]) -> str:
    if re.search(r"memcpy|memmove", function):
        return COPIES
    fitting = (part for file in files for part, pattern in PARTS.items() if re.search(pattern, file))
    return next(fitting, OTHER)
