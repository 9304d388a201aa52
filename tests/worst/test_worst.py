"""The search for the worst case, with a planted defect and short runs."""

import json
import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest

from commandline import refused
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.worst import (
    OBJECTIVES,
    Budget,
    Execution,
    Problem,
    Request,
    Result,
    load_space,
    objective,
    partial_of,
    search,
)
from tussle.worst._evaluate import Evaluator
from tussle.worst._journal import JOURNAL, Found, append_journal, read_journal, repair_journal

PLANTED = """
from tussle.algorithm import Algorithm


class Planted(Algorithm):
    # Starves where the path has a round trip of 40 to 60 ms, and is Reno elsewhere.
    def on_ack(self, ack, flow, control):
        if 40_000 <= flow.min_rtt_us <= 60_000:
            control.cwnd = 2
        else:
            control.grow_like_reno(ack.delivered, flow)
"""
SPACE = """
duration = "3 s"
start_jitter = "1 ms"
path.rate = { from = "2 Mbit/s", to = "6 Mbit/s", scale = "log" }
path.rtt = { from = "10 ms", to = "400 ms", plain = "100 ms" }
path.queue.kind = ["fifo", "codel"]
path.queue.limit = "20 packets"
path.loss = "0 %"
path.changes = []
path.reverse.elements = []
flows.0.count = 1
flows.0.access.jitter = "0 ms"
flows.1.start = "0 s"
flows.1.access.jitter = "0 ms"
"""
FILES = ("scenario.toml", "found.toml", "result.json", "search.csv", "index.html")
_LEAST_MS, _MOST_MS = 40, 60


@pytest.fixture
def planted(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    monkeypatch.chdir(tmp_path)
    (tmp_path / "planted.py").write_text(PLANTED, "utf-8")
    (tmp_path / "space.toml").write_text(SPACE, "utf-8")
    return tmp_path


def request(budget: int) -> Request:
    """Return a search for the scenario in which the planted algorithm starves beside Reno."""
    space = load_space(Path("space.toml"), 2)
    problem = Problem("reno", "planted.py:Planted", objective("starvation"), space)
    return Request(problem, Budget(budget, None, f"{budget} runs"), "tussle worst …")


def found(folder: Path, budget: int = 48) -> Result:
    result, _ = search(request(budget), folder, Execution(workers=1))
    return result


def content(folder: Path) -> dict[str, bytes]:
    return {name: (folder / name).read_bytes() for name in FILES}


def test_a_search_of_200_runs_finds_a_planted_defect_and_shrinks_to_it(planted):
    result = found(planted / "out", 200)
    assert result.search_runs <= 200
    # Two packets in 40 ms or more, 0.6 Mbit/s at most, beside a flow that fills the rest of 2 to 6 Mbit/s.
    assert result.case.median > 0.5
    assert [row.key for row in result.rows if row.matters] == ["path.rtt"]
    rtt_ms = float(next(row.simplest for row in result.rows if row.matters).removesuffix(" ms"))
    # The smallest round trip of a packet includes its transmissions, up to 20 ms at 2 Mbit/s.
    assert _LEAST_MS - 20 <= rtt_ms <= _MOST_MS
    # Elsewhere it is Reno, so that the defect is as rare as its part of the range: 20 of 390 ms, about.
    assert 0 <= result.rarity.low <= 0.05 <= result.rarity.high
    scenario = Scenario.load(planted / "out" / "scenario.toml")
    assert scenario.repetitions == 10
    assert {flow.name for flow in scenario.flows} == {"tested", "beside"}


def test_a_plain_scenario_does_not_show_the_planted_defect(planted):
    plain = planted / "plain.toml"
    plain.write_text(SPACE.replace('path.rtt = { from = "10 ms"', 'path.rtt = { from = "100 ms"'), "utf-8")
    space = load_space(plain, 2)
    problem = Problem("reno", "planted.py:Planted", objective("starvation"), space)
    wanted = Request(problem, Budget(32, None, "32 runs"), "")
    result, _ = search(wanted, planted / "out", Execution(workers=1))
    assert result.case.median < 0.5


def test_one_and_two_workers_write_the_same_bytes(planted, tussle_):
    arguments = (
        "worst",
        "--algorithm",
        "reno",
        "--victim",
        "planted.py:Planted",
        "--objective",
        "starvation",
    )
    arguments += ("--within", planted / "space.toml", "--budget", 32)
    for workers in (1, 2):
        (planted / f"of-{workers}").mkdir()
        answer = tussle_(*arguments, "--workers", workers, "-o", f"of-{workers}/out")
        assert answer.status == 0, answer.problems
        assert "runs/s" in answer.out
    assert content(planted / "of-1" / "out") == content(planted / "of-2" / "out")


def test_an_interrupted_search_resumes_and_ends_with_the_same_bytes(planted):
    whole = found(planted / "whole")
    runs = 0

    def interrupt() -> None:
        nonlocal runs
        runs += 1
        if runs == 40:
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        search(request(48), planted / "out", Execution(workers=1, advance=interrupt))
    assert partial_of(planted / "out").exists()
    again = 0

    def count() -> None:
        nonlocal again
        again += 1

    search(request(48), planted / "out", Execution(workers=1, advance=count))
    assert content(planted / "out") == content(planted / "whole")
    assert not partial_of(planted / "out").exists()
    # Two of the three batches of 16 were finished before run 40.
    assert again <= whole.search_runs + whole.runs_after - 32


def test_a_killed_search_resumes_and_ends_with_the_same_bytes(planted):
    found(planted / "whole")
    words = ["worst", "--algorithm", "reno", "--victim", "planted.py:Planted", "--objective", "starvation"]
    words += ["--within", "space.toml", "--budget", "48", "--workers", "1", "-o", "out"]
    code = "from tussle.cli import main; main()"
    process = subprocess.Popen([sys.executable, "-c", code, *words], stderr=subprocess.DEVNULL)
    journal = partial_of(planted / "out") / JOURNAL
    while not journal.exists():
        assert process.poll() is None
        time.sleep(0.01)
    os.kill(process.pid, signal.SIGKILL)
    process.wait()
    assert not (planted / "out").exists()
    with journal.open("a") as file:
        file.write('{"values": {"cut')
    found(planted / "out")
    assert content(planted / "out") == content(planted / "whole")


def test_a_search_does_not_resume_another_one(planted):
    stopped = partial_of(planted / "out")
    stopped.mkdir()
    (stopped / "search.json").write_text(json.dumps({"algorithm": "cubic"}))
    with pytest.raises(TussleError, match=r"out\.partial holds a search with another algorithm"):
        search(request(16), planted / "out", Execution(workers=1))


def test_a_search_with_a_damaged_identity_begins_anew(planted):
    def interrupt() -> None:
        raise KeyboardInterrupt

    stopped = partial_of(planted / "out")
    for damage in (b"", b"\x00" * 9, b"\xff", b"[]", b"{", b"[" * 100_000):
        append_journal(stopped, {"a scenario": Found([0.5], 1, 0.1)})
        (stopped / "search.json").write_bytes(damage)
        with pytest.raises(KeyboardInterrupt):
            search(request(48), planted / "out", Execution(workers=1, advance=interrupt))
        assert read_journal(stopped) == {}, damage[:9]
    found(planted / "out")
    found(planted / "whole")
    assert content(planted / "out") == content(planted / "whole")


def test_a_journal_is_read_up_to_its_first_damaged_line(tmp_path):
    """Whichever bit of its second line flips, and wherever its file was cut, what is read was written."""
    written = {f"scenario {number}": Found([number / 3, None], 2, 0.25) for number in range(3)}
    append_journal(tmp_path, written)
    assert read_journal(tmp_path) == written
    journal = tmp_path / JOURNAL
    whole = journal.read_bytes()
    first, second, _ = whole.splitlines(keepends=True)
    for bit in range(8 * len(first), 8 * len(first + second)):
        damaged = bytearray(whole)
        damaged[bit // 8] ^= 1 << bit % 8
        journal.write_bytes(damaged)
        assert list(read_journal(tmp_path)) == ["scenario 0"]
    for length in range(len(whole)):
        journal.write_bytes(whole[:length])
        repair_journal(tmp_path)
        assert read_journal(tmp_path).items() <= written.items()
        assert whole.startswith(journal.read_bytes())
    append_journal(tmp_path, written)
    assert read_journal(tmp_path) == written


@pytest.mark.parametrize("name", OBJECTIVES)
def test_every_objective_is_measured_in_the_default_space(name, planted):
    goal = objective(name)
    quick = planted / "quick.toml"
    lines = 'duration = "3 s"\npath.changes = []\npath.rate = "5 Mbit/s"\n'
    start = 'flows.1.start = { from = "0 s", to = "1 s" }\n' if goal.two else ""
    quick.write_text(lines + start, "utf-8")
    beside = goal.victim or ("vegas" if goal.two else None)
    problem = Problem("vegas", beside, goal, load_space(quick, 2 if beside else 1))
    places = np.random.default_rng(1).random((8, len(problem.space.dimensions)))
    evaluator = Evaluator(problem, Execution(workers=1), planted)
    measured = evaluator.values([problem.space.at(place) for place in places], 1, 1)
    values = [value for of_scenario in measured for value in of_scenario]
    least, most = {"harm": (-100, 1), "starvation": (-1, 1), "queue": (0, 100)}.get(name, (0, 1))
    assert len(values) == 8
    assert all(least <= value <= most for value in values)
    assert len(set(values)) > 1
    assert evaluator.runs == 8 * len(problem.pairs)


@pytest.mark.parametrize(
    ("measured", "reached"),
    [
        ([0.1, 0.9, 0.9, 0.1, 0.9], 0.1),
        ([0.7, 0.9, 0.2, 0.8, 0.6], 0.6),
        ([0.7, 0.9, 0.8, 0.6], 0.6),
        ([0.7, 0.9, 0.8], float("-inf")),
    ],
)
def test_a_scenario_is_as_bad_as_four_of_five_seeds_reach(measured, reached, planted, monkeypatch):
    problem = Problem("vegas", "vegas", objective("starvation"), load_space(None, 2))
    evaluator = Evaluator(problem, Execution(), planted)
    monkeypatch.setattr(evaluator, "values", lambda *_: [measured])
    assert evaluator.reliable([{}], seed=2) == [reached]


ARGUMENTS = ("worst", "--algorithm", "vegas", "--objective", "starvation")


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (
            ("worst", "--algorithm", "vegsa", "--objective", "queue"),
            'unknown algorithm "vegsa"; did you mean',
        ),
        ((*ARGUMENTS, "--victim", "cubik"), '--victim: unknown algorithm "cubik"; did you mean "cubic"?'),
        (
            ("worst", "--algorithm", "vegas", "--objective", "harms"),
            'unknown objective "harms"; did you mean',
        ),
        ((*ARGUMENTS, "--budget", "0"), "--budget 0: nothing would be searched"),
        ((*ARGUMENTS, "--budget", "0 s"), "--budget 0 s: nothing would be searched"),
        ((*ARGUMENTS, "--budget", "many"), '--budget "many": give a number of runs, like 300, or a time'),
        ((*ARGUMENTS, "--within", "absent.toml"), "there is no file absent.toml"),
        ((*ARGUMENTS, "--check", "kernle"), 'unknown engine "kernle"; did you mean "kernel"?'),
    ],
)
def test_a_wrong_argument_is_refused_in_one_sentence(arguments, sentence, tussle_):
    problem = refused(tussle_(*arguments))
    assert sentence in problem
    assert "\n" not in problem


@pytest.mark.parametrize(
    ("space", "sentence"),
    [
        ("path.rate = []", "space s.toml, path.rate: an empty list; give at least one value"),
        (
            'path.rat = ["1 Mbit/s", "2 Mbit/s"]',
            'space s.toml: path: unknown key "rat"; did you mean "rate"?',
        ),
        ('path.rate = { from = "1 Mbit/s" }', "space s.toml, path.rate: the range has no to"),
        ("path.loss = {}", "space s.toml, path.loss: an empty table; leave it out, or give keys in it"),
        ("path.loss = [{}]", "space s.toml, path.loss.0: an empty table; leave it out"),
        ("[path.reverse]", "space s.toml, path.reverse: an empty table; leave it out"),
        ("path.loss = { a = 1 }", 'space s.toml: path.loss: {"a": 1} is not a fraction'),
        ("path.queue.limit.a = 1", 'space s.toml: path.queue.limit: {"a": 1} is not a buffer'),
        ('path.rate = { from = "1 Mbit/s", to = "2 Gbit/s" }', "is no range; write both numbers in one unit"),
        ('path.rate = { from = "3 Mbit/s", to = "2 Mbit/s" }', "from is more than to; give another from"),
        ('path.loss = { from = "0 %", to = "2 %", scale = "log" }', "a logarithmic range cannot begin at 0"),
        (
            'path.loss = { from = "0 %", to = "2 %", scale = "loog" }',
            'unknown scale "loog"; did you mean "log"?',
        ),
        (
            'path.rate = ["1 Mbit/s", "2 Mbits"]',
            'path.rate: "2 Mbits" has an unknown unit; did you mean Mbit/s?',
        ),
        ('flows.2.start = "1 s"', "space s.toml, flows.2: this search has no such flows"),
        ("path = 3", "space s.toml: path"),
        ("path.rate = ", "space s.toml, line 1, column 13: not valid TOML"),
    ],
)
def test_a_wrong_space_is_refused_in_one_sentence(space, sentence, tussle_, tmp_path):
    (tmp_path / "s.toml").write_text(space + "\n", "utf-8")
    problem = refused(tussle_(*ARGUMENTS, "--within", "s.toml"))
    assert sentence in problem
    assert "\n" not in problem


def test_a_space_in_which_nothing_varies_is_refused(tussle_, tmp_path):
    fixed = ["path.rtt", "path.loss", "path.queue.kind", "path.queue.limit", "path.rate"]
    values = ["10 ms", "0 %", "fifo", "20 packets", "1 Mbit/s"]
    lines = [f'{key} = "{value}"' for key, value in zip(fixed, values, strict=True)]
    lines += ["path.changes = []", "path.reverse.elements = []", "flows = []"]
    (tmp_path / "s.toml").write_text("\n".join(lines), "utf-8")
    problem = refused(tussle_(*ARGUMENTS, "--within", "s.toml"))
    assert problem == "space s.toml: nothing varies; give at least one range or list of values"


def test_a_folder_with_results_is_refused(tussle_, tmp_path):
    (tmp_path / "out").mkdir()
    assert "out exists already" in refused(tussle_(*ARGUMENTS, "-o", "out"))


def test_the_page_loads_nothing_and_shows_the_case(planted):
    result = found(planted / "out", 16)
    page = (planted / "out" / "index.html").read_text("utf-8")
    assert "default-src 'none'" in page
    assert "<script" not in page
    assert "http" not in page.replace("http://www.w3.org/", "").replace("http-equiv", "")
    assert page.count("<svg") >= 1 + 3 * len(result.compared)
    assert "reno beside planted.py:Planted" in page


@pytest.mark.usefixtures("kernel")
def test_the_case_is_repeated_on_linux(planted, tussle_):
    arguments = ("worst", "--algorithm", "vegas", "--objective", "starvation", "--budget", 8)
    answer = tussle_(*arguments, "--within", planted / "space.toml", "--check", "kernel", "-o", "out")
    assert answer.status == 0, answer.problems
    assert "On the engine kernel: " in answer.out
    (checked,) = json.loads(Path("out/result.json").read_text("utf-8"))["checked"]
    assert checked["engine"] == "kernel"
    # Starvation is 1 - 2 x / Σ x of the flow with less: nothing beyond 0 to 1.
    assert [0 <= value <= 1 for value in checked["values"]] == [True] * 3
    assert "vegas beside vegas, engine kernel" in Path("out/index.html").read_text("utf-8")


@pytest.mark.parametrize("option", ["--engine", "--check"])
@pytest.mark.usefixtures("kernel")
def test_an_algorithm_that_linux_lacks_is_refused_before_the_search(option, tussle_):
    problem = refused(tussle_(*ARGUMENTS, "--victim", "copa", option, "kernel"))
    assert problem.startswith("the engine kernel: flows.1.algorithm: kernel ")
    assert "has no congestion control called copa; it has bbr, " in problem
    assert "\n" not in problem
