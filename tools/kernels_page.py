"""Write docs/kernels/PROFILE.csv from datasets with several kernels, and the tables of the page on kernels.

`python tools/kernels_page.py DIR…`: datasets named `kernels-PROFILE`, as `make kernel-changes` leaves them.
Without a folder the tables are written from the CSV files that there are.
"""

import csv
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path

import marked_tables
import tussle
from marked_tables import table
from tussle.compare import REAL, Question, along, threshold

ROOT = Path(__file__).resolve().parent.parent
RESULTS = ROOT / "docs" / "kernels"
PAGE = ROOT / "docs" / "explanation" / "kernels.md"
MATTERS = "goodput=5%"
"""Relative change of a median below which a change is not counted, even if significant."""

_AXIS = re.compile(r"flows\.(?P<flow>\d)\.algorithm = (?P<algorithm>\w+)")
_COLUMNS: Sequence[str] = (
    "kernel",
    "compared_with",
    "first",
    "joins",
    "flow",
    "goodput_before_mbit_per_s",
    "goodput_mbit_per_s",
    "difference_mbit_per_s",
    "low_mbit_per_s",
    "high_mbit_per_s",
    "runs",
    "verdict",
)

_ONE_CHANGE: Mapping[str, Mapping[str, str]] = {
    "one-change": {"reno_first": "Reno, joined by CUBIC", "reno_joins": "Reno, joins CUBIC"},
    "sack-delay": {"reno": "Reno, joined by BBR", "cubic": "CUBIC, joined by BBR"},
}
"""Experiments with kernels that differ in one thing: columns of the file, and their headings."""
_EXPERIMENTS = (*_ONE_CHANGE, "longer")
"""Results with kernels built for this page only; `make kernel-changes` does not remeasure them."""
_MBIT = "_mbit_per_s"

Row = Mapping[str, str]


def rows_of(folder: Path) -> list[dict[str, str]]:
    """Compare the kernels of a dataset of pairs: a row for each kernel after the first, pair and flow."""
    metric, limit = threshold(MATTERS)
    found = along(tussle.open(folder), "kernel", Question((metric,), {metric: limit}))
    rows = []
    for row in found.rows.iter_rows(named=True):
        pair = dict(_AXIS.findall(row["point"]))
        numbers = [row[column] / 1e6 for column in ("first", "second", "difference", "low", "high")]
        flow = "joins" if row["flow"].endswith("-1") else "first"
        rows.append(
            dict(
                zip(
                    _COLUMNS,
                    (
                        row["second_value"],
                        row["first_value"],
                        pair["0"],
                        pair["1"],
                        flow,
                        *(f"{number:.4f}" for number in numbers),
                        str(row["runs"]),
                        row["verdict"],
                    ),
                    strict=True,
                )
            )
        )
    return rows


def read(profile: str) -> list[Row]:
    """Return the stored rows of a profile."""
    with (RESULTS / f"{profile}.csv").open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def profiles() -> list[str]:
    """Return the names of the profiles that have results, sorted."""
    return sorted(file.stem for file in RESULTS.glob("*.csv") if file.stem not in _EXPERIMENTS)


def one_change(experiment: str) -> str:
    """Tabulate the goodput of flows on kernels in which one thing was changed."""
    flows = _ONE_CHANGE[experiment]
    lines = [
        (
            row["kernel"],
            row["change"],
            *(f"{row[f'{flow}{_MBIT}']} ± {row[f'{flow}_half_interval{_MBIT}']}" for flow in flows),
        )
        for row in read(experiment)
    ]
    return table(("kernel", "change", *flows.values()), lines)


def longer() -> str:
    """Tabulate by how much Reno's goodput differs between 6.1 and 6.12, in other runs."""
    lines = [
        (
            row["runs"],
            row["order"],
            row[f"difference{_MBIT}"],
            f"{row[f'low{_MBIT}']} to {row[f'high{_MBIT}']}",
        )
        for row in read("longer")
    ]
    return table(("runs", "order", "Reno, from 6.1 to 6.12, Mbit/s", "95 % interval"), lines)


def overview() -> str:
    """Tabulate how many results changed, by profile and kernel."""
    lines = []
    for profile in profiles():
        rows = read(profile)
        for kernel in dict.fromkeys(row["kernel"] for row in rows):
            of_kernel = [row for row in rows if row["kernel"] == kernel]
            changed = [row for row in of_kernel if row["verdict"] == REAL]
            largest = max(changed, key=_part, default=None)
            lines.append(
                (
                    profile,
                    f"{of_kernel[0]['compared_with']} to {kernel}",
                    len(of_kernel),
                    len(changed),
                    "-" if largest is None else f"{_flow(largest)}: {_part(largest):.0%}",
                )
            )
    return table(("profile", "kernels", "results", "changed", "the largest change"), lines)


def changes(profile: str) -> str:
    """Tabulate the results of a profile that changed, largest first."""
    rows = sorted((row for row in read(profile) if row["verdict"] == REAL), key=_part, reverse=True)
    lines = [
        (
            f"{row['compared_with']} to {row['kernel']}",
            _flow(row),
            _mbit(row["goodput_before_mbit_per_s"]),
            _mbit(row["goodput_mbit_per_s"]),
            f"{_mbit(row['low_mbit_per_s'])} to {_mbit(row['high_mbit_per_s'])}",
        )
        for row in rows
    ]
    if not lines:
        return "No result changed."
    header = ("kernels", "flow", "before, Mbit/s", "after, Mbit/s", "95 % interval of the change")
    return table(header, lines)


def filled(text: str) -> str:
    """Return the page with the tables between its marks replaced."""
    tables = {"overview": overview} | {name: lambda name=name: changes(name) for name in profiles()}
    tables |= {name: lambda name=name: one_change(name) for name in _ONE_CHANGE}
    tables |= {"longer": longer}
    return marked_tables.filled(text, tables)


def _part(row: Row) -> float:
    """Return the change relative to the larger goodput, so that a starved flow counts as 1."""
    before, after = float(row["goodput_before_mbit_per_s"]), float(row["goodput_mbit_per_s"])
    return abs(after - before) / max(before, after)


def _flow(row: Row) -> str:
    other = row["joins"] if row["flow"] == "first" else row["first"]
    return f"{row[row['flow']]} {'joined by' if row['flow'] == 'first' else 'joins'} {other}"


def _mbit(number: str) -> str:
    return f"{float(number):.3g}"


def main() -> None:
    """Write the files and the page."""
    for folder in map(Path, sys.argv[1:]):
        RESULTS.mkdir(parents=True, exist_ok=True)
        profile = folder.name.removeprefix("kernels-")
        with (RESULTS / f"{profile}.csv").open("w", encoding="utf-8", newline="") as file:
            writer = csv.DictWriter(file, _COLUMNS, lineterminator="\n")
            writer.writeheader()
            writer.writerows(rows_of(folder))
    PAGE.write_text(filled(PAGE.read_text("utf-8")), "utf-8")


if __name__ == "__main__":
    main()
