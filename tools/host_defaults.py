"""Measure what each default of a Linux host changes, and write the table in docs/explanation/default-host.md.

`python tools/host_defaults.py DIR`: runs the cells of the full grid on the simulator, with hosts of `bare`
and with each default of Linux 6.1 that differs from them, into DIR, where finished runs are kept.
"""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from rich.console import Console

import tussle
from tussle.agreement import GRIDS, Pair, amount, compare, scenarios
from tussle.catalog import groups
from tussle.dataset import Dataset
from tussle.host_profiles import host_profiles
from tussle.scenario.axes import written
from tussle.sweep import ProgressBar, SweepSettings, sweep

ROOT = Path(__file__).resolve().parent.parent
PAGE = ROOT / "docs" / "explanation" / "default-host.md"
RESULTS = ROOT / "docs" / "agreement" / "host-defaults.csv"

PROFILE = "linux-6.1"

_MEASURED = re.compile(r"(?<=<!-- measured: defaults -->\n).*?(?=<!-- end -->)", re.DOTALL)
_COLUMNS: Sequence[str] = ("setting", "quantity", "words", "cells", "median", "p95")


def settings_that_differ() -> list[dict[str, Any]]:
    """Return the settings of the profile that `bare` does not have, one at a time, and the profile."""
    shipped, bare = (host_profiles()[name].values for name in (PROFILE, "bare"))
    return [*({key: value} for key, value in shipped.items() if value != bare[key]), {"profile": PROFILE}]


def named(settings: Mapping[str, Any]) -> str:
    """Write settings as a scenario has them."""
    return ", ".join(f"hosts.{key} = {written(value)}" for key, value in settings.items())


def measured(folder: Path) -> list[dict[str, str]]:
    """Run the cells with each setting; a row for each setting and quantity."""
    cells = scenarios(GRIDS["full"], groups()["linux"].algorithms)

    def results(settings: Mapping[str, Any]) -> dict[str, Dataset]:
        given = {f"hosts.{key}": value for key, value in settings.items()}
        place = folder / ("_".join(settings) or "bare")
        place.mkdir(parents=True, exist_ok=True)
        with ProgressBar(Console(stderr=True)) as bar:
            return {
                name: tussle.open(place / name)
                if (place / name).exists()
                else sweep(cell.with_settings(given), place / name, SweepSettings(progress=bar))
                for name, cell in cells.items()
            }

    bare = results({})
    rows = []
    for settings in settings_that_differ():
        found = results(settings)
        changed = compare({name: Pair(found[name], bare[name]) for name in cells})
        for verdict in changed.verdicts:
            size = verdict.found
            rows.append(
                {
                    "setting": named(settings),
                    "quantity": verdict.bound.quantity,
                    "words": verdict.bound.words,
                    "cells": str(verdict.cells),
                    "median": f"{size.median:.6g}",
                    "p95": f"{size.p95:.6g}",
                }
            )
    return rows


def table(rows: Sequence[Mapping[str, str]]) -> str:
    """Return the rows as a Markdown table with a line for each setting."""
    words = list(dict.fromkeys(row["words"] for row in rows))
    lines = [("setting", *words), ("---",) * (1 + len(words))]
    for setting in dict.fromkeys(row["setting"] for row in rows):
        of_setting = {row["words"]: row for row in rows if row["setting"] == setting}
        lines.append((f"`{setting}`", *(_sizes(of_setting[each]) for each in words)))
    return "\n" + "\n".join(f"| {' | '.join(line)} |" for line in lines) + "\n\n"


def _sizes(row: Mapping[str, str]) -> str:
    return ", ".join(amount(row["quantity"], float(row[part])) for part in ("median", "p95"))


def filled(text: str) -> str:
    """Return the page with the table of the stored results."""
    with RESULTS.open(encoding="utf-8", newline="") as file:
        return _MEASURED.sub(lambda _: table(list(csv.DictReader(file))), text)


def main() -> None:
    """Measure, and write the results and the page."""
    rows = measured(Path(sys.argv[1]))
    with RESULTS.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
        writer.writeheader()
        writer.writerows(rows)
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
