"""The queue of a link in mahimahi's format, read by the rules of its graphs."""

import re
from collections import Counter
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

import tussle
from commandline import refused
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

DURATION_S = 4
PAIR = {
    "duration": f"{DURATION_S} s",
    "repetitions": 1,
    "path": {"rate": "12 Mbit/s", "rtt": "40 ms", "queue": {"limit": "20 packets"}},
    "flows": [{"algorithm": "cubic"}, {"algorithm": "reno", "start": "1 s"}],
}
"""1500 bytes take 1 ms."""


@dataclass
class Log:
    """Lines of a log: `(time in ms, numbers of the line)` of each event, by its sign."""

    events: dict[str, list[tuple[int, list[int]]]] = field(default_factory=dict)

    def bytes(self, sign: str) -> int:
        """The sum of the bytes, the last number of a drop and the first of the others."""
        return sum(numbers[1 if sign == "d" else 0] for _, numbers in self.events.get(sign, []))

    def count(self, sign: str) -> int:
        return len(self.events.get(sign, []))


def read(path: Path) -> Log:
    """Read a log by the rules of `mm-throughput-graph`, and of `mm-link` for the lines `d`."""
    log, base = Log(), None
    for line in path.read_text().splitlines():
        if found := re.match(r"# base timestamp: (\d+)", line):
            assert base is None
            base = int(found[1])
        elif not line.startswith("#"):
            assert base is not None
            time, sign, *numbers = line.split()
            assert re.fullmatch(r"\d+", time)
            assert all(re.fullmatch(r"\d+", number) for number in numbers)
            assert len(numbers) == {"+": 1, "#": 1, "-": 2, "d": 2}[sign]
            at_ms = int(time) - base
            assert sign != "-" or at_ms - int(numbers[1]) >= 0
            log.events.setdefault(sign, []).append((at_ms, [int(number) for number in numbers]))
    return log


def dataset(folder: Path, path: dict[str, Any], **other: object) -> Path:
    scenario = Scenario.from_dict({**PAIR, "path": {**PAIR["path"], **path}, **other})
    sweep(scenario, folder, SweepSettings(workers=1))
    return folder


@pytest.fixture(scope="module")
def pair(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return dataset(tmp_path_factory.mktemp("pair") / "data", {})


def exported(tussle_, folder: Path, *options: object) -> Log:
    answer = tussle_("export", folder, "queue-log", "-o", "queue.log", *options)
    assert answer.status == 0, answer.problems
    assert answer.out == "mahimahi: queue.log\n"
    return read(Path("queue.log"))


def last_row(folder: Path, link: str) -> dict[str, Any]:
    links = tussle.open(folder).links.filter(pl.col("link") == link).collect()
    return links.row(-1, named=True)


@pytest.mark.parametrize(
    ("path", "link"),
    [
        ({}, "bottleneck"),
        ({"queue": {"kind": "fq_codel", "target": "1 ms", "interval": "20 ms"}}, "bottleneck"),
        ({"trace": "mahimahi.trace", "rate": None}, "bottleneck"),
        ({"reverse": {"rate": "1 Mbit/s"}}, "bottleneck-reverse"),
    ],
)
def test_a_log_has_the_packets_that_its_link_counted(tussle_, tmp_path: Path, path, link: str) -> None:
    """What arrived has left, was dropped, or is still queued, apart from one packet in transmission."""
    Path("mahimahi.trace").write_text("3\n4\n4\n9\n")
    path = {name: value for name, value in {**PAIR["path"], **path}.items() if value is not None}
    sweep(Scenario.from_dict({**PAIR, "path": path}), tmp_path / "data", SweepSettings(workers=1))
    log = exported(tussle_, tmp_path / "data", "--link", link)
    counted = last_row(tmp_path / "data", link)
    assert log.count("+") == counted["arrived_packets"]
    assert log.count("d") == counted["dropped_packets"]
    assert log.count("-") == counted["delivered_packets"]
    assert log.bytes("-") == counted["delivered_bytes"]
    in_transmission = log.bytes("+") - log.bytes("-") - log.bytes("d") - counted["backlog_bytes"]
    assert 0 <= in_transmission <= 1500


def test_lines_are_in_order_of_time(tussle_, pair: Path) -> None:
    exported(tussle_, pair)
    lines = [line for line in Path("queue.log").read_text().splitlines() if not line.startswith("#")]
    times = [int(line.split()[0]) for line in lines]
    assert times == sorted(times)
    assert times[-1] == DURATION_S * 1000


def test_a_full_queue_delays_a_packet_by_its_length_and_a_transmission(tussle_, pair: Path) -> None:
    """20 packets of 1 ms each, and the packet itself: 20 to 21 ms, and times are whole ms."""
    delays = [numbers[1] for _, numbers in exported(tussle_, pair).events["-"]]
    assert max(delays) in (20, 21)
    assert min(delays) in (0, 1)


def test_opportunities_follow_the_rate_of_the_link(tussle_, tmp_path: Path) -> None:
    """12 Mbit/s carry 1500 bytes each ms, 6 Mbit/s from 2 s on each 2 ms: 2000 + 1000 in 4 s."""
    folder = dataset(tmp_path / "data", {"changes": [{"at": "2 s", "rate": "6 Mbit/s"}]})
    times = [at_ms for at_ms, _ in exported(tussle_, folder).events["#"]]
    assert times == [*range(1, 2001), *range(2002, 4001, 2)]


def test_opportunities_are_those_of_a_recording_that_repeats(tussle_, tmp_path: Path) -> None:
    Path("mahimahi.trace").write_text("3\n4\n4\n9\n")
    path = {"trace": "mahimahi.trace", "rtt": "40 ms", "queue": {"limit": "20 packets"}}
    sweep(Scenario.from_dict({**PAIR, "path": path}), tmp_path / "data", SweepSettings(workers=1))
    log = exported(tussle_, tmp_path / "data")
    times = [at_ms for at_ms, _ in log.events["#"]]
    assert times[:8] == [3, 4, 4, 9, 12, 13, 13, 18]
    assert Counter(at_ms for at_ms, _ in log.events["-"]).keys() <= set(times)


def test_an_unknown_link_is_refused(tussle_, pair: Path) -> None:
    answer = tussle_("export", pair, "queue-log", "--link", "botleneck")
    assert refused(answer) == '--link: unknown link "botleneck"; did you mean "bottleneck"?'


def test_a_host_without_a_rate_has_no_log(tussle_, tmp_path: Path) -> None:
    folder = dataset(tmp_path / "data", {}, hosts={"noise": "10 us"})
    links = {row["name"] for run in tussle.open(folder).scenario.runs() for row in run.run["elements"]}
    host = next(name for name in sorted(links) if "noise" in name or "processing" in name)
    answer = tussle_("export", folder, "queue-log", "--link", host)
    assert "has no rate" in refused(answer)
    assert not Path("queue-log.log").exists()
