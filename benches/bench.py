"""Speed of the simulator beside ns-2 and ns-3, where these are installed, and the cost of its parts."""

from __future__ import annotations

import argparse
import json
import os
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import extras
import memory
import page
import scaling
import sweeps
import where
from cases import CASES, COUNTED, Case
from engines import ENGINES, TUSSLE, Engine, MissingError
from instructions import complaint, count, write_bounds
from measure import FailedError, measure
from page import RESULTS
from summary import Row, lines, record


def main() -> None:
    """Measure and print, and store the results for the page; or count instructions."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=_count, default=3, help="rounds of everything in turn (3)")
    parser.add_argument("--only", choices=PARTS, action="append", help="a part of it; repeatable (all)")
    parser.add_argument(
        "--instructions", action="store_true", help="count Tussle's instructions with callgrind instead"
    )
    parser.add_argument("--write-bounds", action="store_true", help="and store them as what tests allow")
    arguments = parser.parse_args()
    if arguments.instructions:
        sys.exit(_count_instructions("write" if arguments.write_bounds else "check"))
    found = json.loads(RESULTS.read_text()) if RESULTS.exists() else {}
    for name in arguments.only or PARTS:
        _hint(f"{name} ...\n")
        machine = f"{_processor()}, load {os.getloadavg()[0]:.1f}"
        try:
            measured = PARTS[name](arguments.repetitions)
        except (MissingError, FailedError) as reason:
            _say(f"{name}: {reason}\n")
            continue
        found[name] = {"machine": machine, "rounds": arguments.repetitions, "found": measured}
        if name != "cases":
            _say(page.table(name, found[name]) + "\n")
        RESULTS.parent.mkdir(exist_ok=True)
        RESULTS.write_text(json.dumps(found, indent=2) + "\n")
    _say("Rates are medians; how they are got and what they leave out: benches/README.md.")


def _count_instructions(purpose: str) -> int:
    """Count all cases; store the counts, or compare them with the stored bounds. Returns the exit status."""
    counts = []
    for case in COUNTED:
        try:
            counts.append(count(case))
        except (MissingError, FailedError) as reason:
            _say(f"{case.name}: {reason}")
            return 1
        _say(counts[-1].line())
    if purpose == "write":
        write_bounds(counts)
        return 0
    complaints = [each for each in map(complaint, counts) if each]
    _say("\n".join(complaints))
    return 1 if complaints else 0


def _cases(rounds: int) -> list[dict[str, Any]]:
    """Compare the engines; return the rows of each case."""
    commands = {engine.name: _find(engine) for engine in ENGINES}
    found = []
    for case in CASES:
        _say(f"CUBIC, {case.name}\n")
        rows = compare(case, commands, rounds)
        reference = next(row for row in rows if row.engine == TUSSLE.name)
        _say("\n".join(lines(rows, reference)) + "\n")
        found.append({"case": case.name, "rows": [record(row, reference) for row in rows]})
    return found


PARTS: dict[str, Callable[[int], Any]] = {
    "cases": _cases,
    "where": where.rows,
    "scaling": scaling.rows,
    "extras": extras.rows,
    "memory": memory.rows,
    "sweeps": sweeps.rows,
}


def compare(case: Case, commands: dict[str, list[str] | str], rounds: int) -> list[Row]:
    """Run every engine once a round, in turn, so that a change of load affects all of them."""
    rows = [Row(engine.name, case.lasting(engine.duration_s(case))) for engine in ENGINES]
    for number in range(rounds):
        for engine, row in zip(ENGINES, rows, strict=True):
            command = commands[engine.name]
            if isinstance(command, str):
                row.missing = command
            elif case.flows > engine.most_flows:
                row.missing = f"left out: {case.flows} flows would take it an hour"
            if row.missing:
                continue
            _hint(f"  round {number + 1}: {engine.name} ...")
            try:
                row.measurements.append(measure(engine.job(list(command), row.case)))
                _hint(f" {row.measurements[-1].cpu_s:.1f} s\n")
            except FailedError as reason:
                row.missing = f"failed, {reason}"
                row.measurements.clear()
                _hint(" failed\n")
    return rows


def _find(engine: Engine) -> list[str] | str:
    """Return the command of an engine, or why there is none."""
    try:
        return engine.find()
    except MissingError as reason:
        return str(reason)


def _count(text: str) -> int:
    number = int(text)
    if number < 1:
        raise argparse.ArgumentTypeError("at least 1")
    return number


def _processor() -> str:
    try:
        facts = Path("/proc/cpuinfo").read_text()
    except OSError:
        return "unknown processor"
    names = [line.split(":", 1)[1].strip() for line in facts.splitlines() if line.startswith("model name")]
    return names[0] if names else "unknown processor"


def _say(text: str) -> None:
    sys.stdout.write(f"{text}\n")
    sys.stdout.flush()


def _hint(text: str) -> None:
    """Show progress on stderr, apart from the tables."""
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    main()
