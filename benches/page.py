"""Writes the last measurements, `results/bench.json`, as tables into docs/explanation/speed.md."""

from __future__ import annotations

import json
import re
import sys
from collections.abc import Callable, Iterable
from typing import Any

from engines import ROOT

PAGE = ROOT / "docs" / "explanation" / "speed.md"
RESULTS = ROOT / "results" / "bench.json"
MILLION = 1_000_000


def table(name: str, part: dict[str, Any]) -> str:
    """Return one part of the measurements as a Markdown table."""
    rounds = "round" if part["rounds"] == 1 else "rounds"
    return f"{_TABLES[name](part['found'])}\n\n*{part['machine']}; {part['rounds']} {rounds}.*"


def filled(text: str, found: dict[str, Any]) -> str:
    """Return a page whose tables between marks are replaced by new measurements, where there are any."""

    def replaced(block: re.Match[str]) -> str:
        name = block["name"]
        if name not in found:
            return block[0]
        return f"<!-- measured: {name} -->\n\n{table(name, found[name])}\n\n<!-- end -->"

    return _MARKED.sub(replaced, text)


def names(text: str) -> list[str]:
    """Return the names of the tables that a page has marks for."""
    return [block["name"] for block in _MARKED.finditer(text)]


def main() -> None:
    """Write the tables into the page."""
    if not RESULTS.exists():
        sys.exit(f"there is no {RESULTS.relative_to(ROOT)}: `make bench` measures, and writes it")
    PAGE.write_text(filled(PAGE.read_text(), json.loads(RESULTS.read_text())))


_MARKED = re.compile(r"<!-- measured: (?P<name>\w+) -->\n.*?<!-- end -->", re.DOTALL)


def _cases(found: list[dict[str, Any]]) -> str:
    rows = [(case["case"], row["engine"], *_speed(row)) for case in found for row in case["rows"]]
    return _markdown(
        ("flows of CUBIC", "simulator", "packets/s", "time per packet", "tussle is", "link used"), rows
    )


def _speed(row: dict[str, Any]) -> tuple[str, ...]:
    if "missing" in row:
        return (row["missing"], "", "", "")
    rate = row["packets_per_s"]
    return (
        f"{rate / MILLION:.2f} M" if rate >= MILLION else f"{rate / 1e3:.0f} k",
        f"{1e9 / rate:,.0f} ns",
        "" if row["engine"] == "tussle" else f"{row['times_slower']:.1f} x as fast",
        f"{row['utilisation']:.0%}",
    )


def _where(found: dict[str, Any]) -> str:
    cases = list(found.values())
    parts = sorted(
        {part for case in cases for part, count in case["instructions"].items() if count >= 1},
        key=lambda part: -cases[0]["instructions"].get(part, 0),
    )
    rows = [(part, *(_share(case["instructions"], part) for case in cases)) for part in parts]
    sums = [sum(case["instructions"].values()) for case in cases]
    rows.append(("**together**", *(f"{sum_:,.0f}" for sum_ in sums)))
    rows.append(("**the floor**", *(f"{case['floor']['instructions']:,.0f}" for case in cases)))
    rows.append(("time of a packet", *(f"{case['floor']['simulator_time_ns']:.0f} ns" for case in cases)))
    rows.append(("time of the floor", *(f"{case['floor']['time_ns']:.0f} ns" for case in cases)))
    return _markdown(("instructions per packet", *found), rows)


def _share(instructions: dict[str, float], part: str) -> str:
    count = instructions.get(part, 0.0)
    return f"{count:,.0f} ({count / sum(instructions.values()):.0%})"


def _scaling(found: list[dict[str, Any]]) -> str:
    firsts = {row["about"]: row for row in reversed(found)}
    rows = [
        (
            row["about"] if row is firsts[row["about"]] else "",
            row["size"],
            *_counted(row["instructions"], firsts[row["about"]]["instructions"]),
            f"{row['time_ns']:.0f} ns",
            row["cost"],
        )
        for row in found
    ]
    return _markdown(("group", "size", "instructions", "ratio to the first", "time", "spent on"), rows)


def _counted(instructions: float | None, first: float | None) -> tuple[str, str]:
    return (
        ("", "") if not instructions or not first else (f"{instructions:,.0f}", f"{instructions / first:.2f}")
    )


def _extras(found: list[dict[str, Any]]) -> str:
    rows = [
        (row["extra"], row["case"], _percent(row["instructions_percent"]), _percent(row["time_percent"]))
        for row in found
    ]
    return _markdown(("extra", "flows", "more instructions", "more time"), rows)


def _percent(value: float | None) -> str:
    return "" if value is None else f"{value:+.2f} %" if abs(value) < 1 else f"{value:+.1f} %"


def _memory(found: list[dict[str, Any]]) -> str:
    return _markdown(("memory of", "bytes"), [(row["what"], f"{row['bytes']:,}") for row in found])


def _sweeps(found: dict[str, Any]) -> str:
    rows: list[tuple[str, ...]] = []
    for swept in found["swept"]:
        rows += [
            (f"{swept['runs']} runs", *(f"{wall_s:.1f} s" for wall_s in swept["wall_s"])),
            ("their processor time", *(f"{cpu_s:.1f} s" for cpu_s in swept["cpu_s"])),
            ("efficiency on two cores", "", f"{swept['efficiency_percent']:.0f} %"),
        ]
    rows.append(("an algorithm in Python, each ACK", f"{found['python_ack_us']:.2f} µs", ""))
    return _markdown(("sweep", "one worker", "two workers"), rows)


def _markdown(header: Iterable[str], rows: Iterable[Iterable[str]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *(list(row) for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


_TABLES: dict[str, Callable[[Any], str]] = {
    "cases": _cases,
    "where": _where,
    "scaling": _scaling,
    "extras": _extras,
    "memory": _memory,
    "sweeps": _sweeps,
}

if __name__ == "__main__":
    main()
