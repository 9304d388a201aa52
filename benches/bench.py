"""Speed of the simulator, side by side with ns-2 and ns-3 where they are installed (see README.md)."""

from __future__ import annotations

import argparse
import os
import sys
from pathlib import Path

import instructions
from cases import CASES, Case
from engines import ENGINES, TUSSLE, Engine, MissingError
from measure import FailedError, measure
from summary import Row, lines


def main() -> None:
    """Print one table a case, or the instruction counts."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--repetitions", type=_count, default=3, help="rounds of every engine in turn (3)")
    parser.add_argument(
        "--instructions", action="store_true", help="count Tussle's instructions with callgrind instead"
    )
    arguments = parser.parse_args()
    if arguments.instructions:
        for case in CASES:
            _say(instructions.report(case))
        return
    commands = {engine.name: _find(engine) for engine in ENGINES}
    _say(f"{_processor()}, load {os.getloadavg()[0]:.1f}; rounds: {arguments.repetitions}\n")
    for case in CASES:
        _say(f"CUBIC, {case.name}\n")
        rows = compare(case, commands, arguments.repetitions)
        reference = next(row for row in rows if row.engine == TUSSLE.name)
        _say("\n".join(lines(rows, reference)) + "\n")
    _say("Rates are medians; how they are got and what they leave out: benches/README.md.")


def compare(case: Case, commands: dict[str, list[str] | str], rounds: int) -> list[Row]:
    """Run every engine once a round, in turn, so that a change of load meets all of them."""
    rows = [Row(engine.name, case.lasting(engine.duration_s(case))) for engine in ENGINES]
    for number in range(rounds):
        for engine, row in zip(ENGINES, rows, strict=True):
            command = commands[engine.name]
            if isinstance(command, str):
                row.missing = command
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
    """Show where a long comparison stands, apart from the tables."""
    sys.stderr.write(text)
    sys.stderr.flush()


if __name__ == "__main__":
    main()
