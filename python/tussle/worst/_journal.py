"""The journal of a search: what the runs of each scenario gave, so that an interrupted search resumes.

Each line is a CRC-32, a space, and a JSON object. Lines from the first damaged one on are of no use: the
search executes their runs again.
"""

from __future__ import annotations

import json
import zlib
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path

from tussle.dataset.files import explained, flush, make_folder, write_whole

JOURNAL = "journal"


@dataclass(frozen=True)
class Found:
    """Results of the runs of a scenario."""

    values: list[float | None]
    """The badness in each repetition; `None` where it is unknown."""
    runs: int
    took_s: float
    """The scenario's part of the time of its batch, by the wall clock of the machine that executed it."""


def read_journal(folder: Path) -> dict[str, Found]:
    """Return the scenarios of the journal in `folder`, by their keys."""
    return {line.pop("of"): Found(**line) for line in map(json.loads, _whole_lines(folder / JOURNAL))}


def append_journal(folder: Path, found: Mapping[str, Found]) -> None:
    """Write scenarios to the journal in `folder`; raises TussleError."""
    path = folder / JOURNAL
    lines = [_sealed(json.dumps({"of": key} | asdict(each))) for key, each in found.items()]
    with explained(path):
        make_folder(folder)
        with path.open("a", encoding="utf-8") as file:
            file.writelines(lines)
        flush(path)


def repair_journal(folder: Path) -> None:
    """Remove damaged lines, such as a last one that was cut off: no line can follow them."""
    path = folder / JOURNAL
    if path.exists():
        with explained(path):
            write_whole(path, "".join(map(_sealed, _whole_lines(path))).encode())


def _whole_lines(path: Path) -> Iterator[str]:
    """Yield the objects of a journal, as JSON, up to the first damaged line."""
    try:
        text = path.read_text("utf-8", errors="replace")
    except FileNotFoundError:
        return
    for line in text.splitlines(keepends=True):
        written = line[len("01234567 ") : -1]
        if line != _sealed(written):
            return
        yield written


def _sealed(line: str) -> str:
    return f"{zlib.crc32(line.encode()):08x} {line}\n"
