"""Write docs/agreement and the tables in docs/explanation/agreement.md from results of `tussle agree`.

`python tools/agreement.py HOSTS DIR "COMMAND"`: HOSTS are those of the cells, `bare` or `linux-6.1`, and DIR
is the folder that COMMAND wrote.
"""

import argparse
import re
from collections.abc import Sequence
from datetime import UTC, datetime
from pathlib import Path

from tussle.agreement import (
    About,
    Agreement,
    Pair,
    amount,
    compare,
    distribution,
    number,
    save_differences,
    signed,
)
from tussle.dataset import Dataset

ROOT = Path(__file__).resolve().parent.parent
DOCS = ROOT / "docs"
TEXT = DOCS / "explanation" / "agreement.md"
FOLDERS = {"bare": "agreement", "linux-6.1": "agreement/linux-6.1"}
"""Where the figures and differences are, in docs, by the profile of the hosts."""


def measured(agreement: Agreement, about: About, place: str) -> str:
    """Return the tables and figures, as Markdown; `place` is the folder of the figures in docs."""
    engine, kernel = (each.provenance["engine"] for each in next(iter(agreement.pairs.values())))
    bounds = [
        (
            verdict.bound.words,
            verdict.cells,
            amount(verdict.bound.quantity, verdict.found.median),
            amount(verdict.bound.quantity, verdict.bound.median),
            amount(verdict.bound.quantity, verdict.found.p95),
            amount(verdict.bound.quantity, verdict.bound.p95),
            "**no**" if verdict.answer == "no" else verdict.answer,
        )
        for verdict in agreement.verdicts
    ]
    limits = [verdict.bound for verdict in agreement.verdicts]
    algorithms = [
        (
            row["algorithm"],
            row["cells"],
            *(amount(bound.quantity, row[bound.quantity]) for bound in limits),
            number(row["window_distance"]),
            number(row["own_distance"]),
            f"{row['score']:.0f}",
        )
        for row in agreement.algorithms.iter_rows(named=True)
    ]
    outside = [
        (
            row["bound"],
            row["algorithm"],
            row["arrangement"],
            row["rate"],
            row["rtt"],
            row["buffer"],
            row["loss"],
            signed(row["quantity"], row["difference"]),
            "-"
            if row["low"] is None
            else f"{signed(row['quantity'], row['low'])} to {signed(row['quantity'], row['high'])}",
        )
        for row in agreement.outside.iter_rows(named=True)
    ]
    return "\n".join(
        [
            "",
            f"On {about.date}, by `{about.command}`: {agreement.cells.height} cells. Simulator "
            f"{engine['version']}, build `{engine['build']}`; Linux {kernel['release']}, {kernel['hz']} "
            "ticks a second. "
            f"In {agreement.same_cells} cells every run delivers and retransmits the same on both. "
            f"[differences.csv](../{place}/differences.csv) holds every difference. `make agreement` also "
            "writes HTML pages with every cell, and with windows and queues of both engines, into `results`.",
            "",
            *_table(
                ("difference", "cells", "median", "at most", "95th percentile", "at most", "holds"), bounds
            ),
            "",
            "Cumulative distribution of the differences over the cells, with the limits of each bound:",
            "",
            *(f"![{bound.words}](../{place}/{bound.quantity}.svg)" for bound in limits),
            "",
            "Medians over the cells of each algorithm. The score is the percentage of differences within the "
            "bound's limit for a single cell:",
            "",
            *_table(
                (
                    "algorithm",
                    "cells",
                    *(bound.words for bound in limits),
                    "distance of windows",
                    "Linux from itself",
                    "score",
                ),
                algorithms,
            ),
            "",
            "Cells outside the bounds, of all algorithms, the largest first:",
            "",
            *_table(
                (
                    "difference",
                    "algorithm",
                    "flows",
                    "rate",
                    "RTT",
                    "buffer",
                    "loss",
                    "difference",
                    "interval",
                ),
                outside,
            ),
            "",
            "",
        ]
    )


def _table(header: tuple[str, ...], rows: Sequence[tuple[object, ...]]) -> list[str]:
    lines = [header, ("---",) * len(header), *rows]
    return [f"| {' | '.join(str(cell) for cell in line)} |" for line in lines]


def main() -> None:
    """Write the differences, the figures and the tables."""
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("hosts", choices=FOLDERS)
    parser.add_argument("folder", type=Path)
    parser.add_argument("command")
    given = parser.parse_args()
    names = sorted(folder.name for folder in (given.folder / "kernel").iterdir() if folder.is_dir())
    agreement = compare(
        {
            name: Pair(*(Dataset.open(given.folder / each / name) for each in ("sim", "kernel")))
            for name in names
        }
    )
    about = About(given.command, datetime.now(UTC).date().isoformat(), ("simulator", "Linux"))
    place = FOLDERS[given.hosts]
    (DOCS / place).mkdir(exist_ok=True)
    save_differences(agreement, DOCS / place)
    for verdict in agreement.verdicts:
        drawn = distribution(agreement.differences, verdict.bound)
        (DOCS / place / f"{verdict.bound.quantity}.svg").write_text(drawn, "utf-8")
    block = re.compile(rf"(?<=<!-- measured: {given.hosts} -->\n).*?(?=<!-- end -->)", re.DOTALL)
    text, blocks = block.subn(lambda _: measured(agreement, about, place), TEXT.read_text("utf-8"))
    if not blocks:
        parser.error(f"{TEXT} has no block for {given.hosts}")
    TEXT.write_text(text, "utf-8")


if __name__ == "__main__":
    main()
