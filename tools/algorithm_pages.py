"""Write docs/explanation/algorithms: a page for each algorithm, with figures of what it does.

`python tools/algorithm_pages.py` simulates, draws and writes. With `--check` it only compares: what comes
from the code to the letter, what was measured but for its numbers.
"""

import argparse
import re
import sys
import tempfile
import tomllib
from collections.abc import Iterable, Mapping
from pathlib import Path

from algorithm_runs import BUFFERS, MARK_ABOVE, MARKED, Loss, Measured, Queueing, measure
from tussle.catalog import catalog

ROOT = Path(__file__).resolve().parent.parent
FOLDER = ROOT / "docs" / "explanation" / "algorithms"
IMAGES = ROOT / "docs" / "images" / "algorithms"
_ORIGIN = "<!-- Written by tools/algorithm_pages.py (`make pages`). Change it there, or in the code. -->"
_MEASURED = "## Behaviour on a path"
_NUMBER = re.compile(r"[0-9]+(\.[0-9]+)?")


def pages(measured: Mapping[str, Measured]) -> dict[str, str]:
    """Return every page by its file name."""
    algorithms = {f"{name}.md": _page(name, measured[name]) for name in catalog().algorithms}
    return {"index.md": _index(measured), **algorithms}


def stale() -> list[str]:
    """Return the names of pages and pictures that are missing, superfluous or out of date."""
    present = {file.name: _comparable(file.read_text("utf-8")) for file in FOLDER.glob("*.md")}
    without_numbers = pages(dict.fromkeys(catalog().algorithms, Measured()))
    wanted = {name: _comparable(page) for name, page in without_numbers.items()}
    names = {name for name in present.keys() | wanted if present.get(name) != wanted.get(name)}
    return sorted(names | (_pictures() ^ {file.name for file in IMAGES.glob("*")}))


def _pictures() -> set[str]:
    drawn = {f"{name}-{kind}.png" for name in catalog().algorithms for kind in ("window", "loss", "share")}
    return drawn | {f"{name}-marked.png" for name in MARKED}


def _comparable(page: str) -> tuple[str, str]:
    of_the_code, _, measured = page.partition(_MEASURED)
    return of_the_code, _NUMBER.sub("#", measured)


def _index(measured: Mapping[str, Measured]) -> str:
    rows = [
        (
            f"[{name}]({name}.md)",
            catalog().algorithms[name]["idea"],
            f"{each.small.used_percent:.0f} %",
            f"{each.small.retransmitted_percent:.1f} %",
            f"{each.large.used_percent:.0f} %",
            f"{each.large.queue_ms:.0f} ms",
            f"{each.shares_percent[BUFFERS.index('0.5 bdp')]:.0f} %",
        )
        for name, each in measured.items()
    ]
    header = (
        "algorithm",
        "principle",
        "link used, 0.1 BDP",
        "retransmitted, 0.1 BDP",
        "link used, 1 BDP",
        "queue, 1 BDP",
        "beside Reno, 0.5 BDP",
    )
    return _joined(
        "# The algorithms",
        _ORIGIN,
        "Each algorithm has a page with its source, its departures from that source, and its behaviour on a "
        "path.",
        _MEASURED,
        "The link used, the part of the packets that is retransmitted and the mean queue are those of one "
        "flow over a path of 200 Mbit/s and 100 ms, with buffers of 0.1 and 1 bandwidth-delay product (BDP). "
        "The last column is its share of the goodput of two flows, of which the other is Reno and starts a "
        "second later, over a path of 50 Mbit/s and 40 ms. No queue here marks packets; the pages of dctcp "
        "and prague also show a queue that does.",
        _table(header, rows),
    )


_NOTES = {
    "lp": (
        'The scenarios have `hosts.timestamps = "synchronised"`. With random offsets of timestamps, as they '
        "are by default in Linux, most flows of lp behave like Reno: see [Departures](#departures).",
    )
}
"""Notes on the runs of some algorithms."""


def _page(name: str, measured: Measured) -> str:
    return _joined(
        f"# {name}",
        _ORIGIN,
        *_of_the_code(name),
        _MEASURED,
        "Numbers are measured in the shaded interval of a figure. Thin lines are the slow start threshold.",
        *_NOTES.get(name, ()),
        "### Window and queue",
        _picture(name, "window", f"Window of one {name} flow and its queue against time, for two buffers"),
        "One flow over a path of 200 Mbit/s and 100 ms. With a buffer of 0.1 BDP the flow "
        f"{_queueing(measured.small)}. With 1 BDP it {_queueing(measured.large)}.",
        *(_marked(name, measured.marked) if name in MARKED else ()),
        "### One loss",
        _picture(name, "loss", f"Window of one {name} flow around a single lost packet"),
        f"One flow over a path of 50 Mbit/s and 40 ms with a buffer of 1 BDP. {_loss(measured.loss)}",
        "### Beside Reno",
        _picture(name, "share", f"Share of the goodput of {name} beside Reno, against the buffer"),
        "Two flows over a path of 50 Mbit/s and 40 ms; Reno starts a second later. "
        f"{_shares(name, measured)}",
    )


def _of_the_code(name: str) -> list[str]:
    entry = catalog().algorithms[name]
    source = ROOT / "crates" / "tussle-core" / "src" / "cc" / name
    source = source / "mod.rs" if source.is_dir() else source.with_suffix(".rs")
    code = source.relative_to(ROOT).as_posix()
    facts = [
        f"- Source: {entry['source']}",
        f"- Agrees with: {entry['agrees_with']}",
        f"- Code: [{code}](../../../{code})",
    ]
    parameters = [
        (f"`{each['name']}`", each["meaning"], each["default"], each["min"], each["max"])
        for each in entry["parameters"]
    ]
    departures = ROOT / "docs" / "deviations" / f"{name}.toml"
    departing = []
    if departures.exists():
        tables = tomllib.loads(departures.read_text("utf-8"))["departure"]
        departing = [(each["what"], each["why"], each["size"]) for each in tables]
    return [
        entry["idea"],
        "\n".join(facts),
        "## Parameters",
        _table(("parameter", "meaning", "default", "smallest", "largest"), parameters)
        if parameters
        else "The algorithm has no parameters.",
        "## Departures",
        _table(("what", "why", "how much it matters"), departing) if departing else "No departure is known.",
    ]


def _marked(name: str, queueing: Queueing) -> list[str]:
    return [
        "### Where the queue marks",
        _picture(
            name, "marked", f"Window of one {name} flow and its queue against time, at a queue that marks"
        ),
        f"One flow with ECN over a path of 50 Mbit/s and 40 ms, with a buffer of 1 BDP and a queue that "
        f"marks packets that find more than {MARK_ABOVE.replace('bdp', 'BDP')} waiting (`threshold`): the "
        f"flow {_queueing(queueing)}.",
    ]


def _queueing(queueing: Queueing) -> str:
    return (
        f"uses {queueing.used_percent:.1f} % of the link, and {queueing.queue_packets:.1f} packets "
        f"({queueing.queue_ms:.1f} ms) wait on average; "
        f"{queueing.retransmitted_percent:.2f} % of its packets are retransmissions"
    )


def _loss(loss: Loss) -> str:
    return (
        f"At {loss.at_s:.2f} s one packet is lost. The window is {loss.before} packets then, at "
        f"least {loss.smallest} in the next second, and {loss.after} after 5 s."
    )


def _shares(name: str, measured: Measured) -> str:
    shares = [f"{share:.0f} %" for share in measured.shares_percent]
    buffers = [limit.removesuffix(" bdp") for limit in BUFFERS]
    return (
        f"With buffers of {', '.join(buffers[:-1])} and {buffers[-1]} BDP {name} gets "
        f"{', '.join(shares[:-1])} and {shares[-1]} of the goodput of both."
    )


def _picture(name: str, kind: str, alternative: str) -> str:
    return f"![{alternative}](../../images/algorithms/{name}-{kind}.png)"


def _joined(*blocks: str) -> str:
    return "\n\n".join(blocks) + "\n"


def _table(header: Iterable[str], rows: Iterable[Iterable[object]]) -> str:
    header = list(header)
    lines = [header, ["---"] * len(header), *([_cell(value) for value in row] for row in rows)]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


def _cell(value: object) -> str:
    return " ".join(str(value).split()).replace("|", "\\|")


def _write() -> None:
    with tempfile.TemporaryDirectory() as scratch:
        drawn = Path(scratch) / "images"
        drawn.mkdir()
        written = pages(dict(measure(list(catalog().algorithms), drawn, Path(scratch))))
        _replace(FOLDER, {name: text.encode() for name, text in written.items()})
        _replace(IMAGES, {file.name: file.read_bytes() for file in drawn.iterdir()})


def _replace(folder: Path, files: Mapping[str, bytes]) -> None:
    """Write these files into a folder and remove all others."""
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, content in files.items():
        (folder / name).write_bytes(content)


def main() -> None:
    """Write the pages, or list those that are out of date."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--check", action="store_true", help="write nothing; fail if a page is not current")
    if not parser.parse_args().check:
        _write()
    elif names := stale():
        sys.exit(f"docs/explanation/algorithms is not current ({', '.join(names)}): run `make pages`")


if __name__ == "__main__":
    main()
