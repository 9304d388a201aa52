"""Tests of the command line."""

import json
import os
import re
import signal
import subprocess
import sys
import time
from collections.abc import Sequence
from pathlib import Path

import pytest

import tussle
from commandline import refused
from fake_engine import MeasuringEngine
from tussle.answers import note_on_hosts
from tussle.catalog import groups
from tussle.scenario import Scenario, ready_scenarios
from tussle.sweep import SweepSettings, sweep

QUICK = """
question = "Does it work?"
duration = "3 s"

[path]
rate = "5 Mbit/s"
rtt = "20 ms"

[[flows]]
algorithm = ["reno", "cubic"]
"""


@pytest.fixture
def quick(tmp_path: Path) -> Path:
    file = tmp_path / "quick.toml"
    file.write_text(QUICK, encoding="utf-8")
    return file


def in_a_shell(line: str, **environment: str) -> subprocess.CompletedProcess[str]:
    folder = Path(sys.executable).parent
    path = {"PATH": f"{folder}{os.pathsep}{os.environ['PATH']}"}
    return subprocess.run(  # noqa: S602 (pipes are what is tested)
        line,
        shell=True,
        capture_output=True,
        text=True,
        check=False,
        env={**os.environ, **path, **environment},
    )


# --- looking around ---


def test_the_version_is_printed(tussle_):
    assert tussle_("--version") == (0, f"tussle {tussle.__version__}\n", "")


def test_python_runs_the_package_as_the_command():
    answer = subprocess.run(
        [sys.executable, "-m", "tussle", "--version"], capture_output=True, text=True, check=False
    )
    assert (answer.returncode, answer.stdout) == (0, f"tussle {tussle.__version__}\n")


@pytest.mark.parametrize(
    "kind", ["algorithms", "groups", "queues", "profiles", "scenarios", "metrics", "figures"]
)
def test_every_list_has_a_line_per_entry_and_a_json_form(tussle_, kind: str):
    entries = json.loads(tussle_("list", kind, "--json").out)
    table, _, _ = tussle_("list", kind).out.partition("\n\n")
    names = [line.split()[0] for line in table.splitlines()]
    assert names == ["name", *(entry["name"] for entry in entries)]
    assert len(names) > 1


def test_the_list_of_algorithms_mentions_their_groups(tussle_):
    assert tussle_("list", "algorithms").out.splitlines()[-1] == (
        "Groups, for lists of algorithms: linux13, linux, all (`tussle list groups`)."
    )


def test_an_unknown_list_is_refused_with_the_nearest_name(tussle_):
    assert refused(tussle_("list", "algorithm")) == 'unknown list "algorithm"; did you mean "algorithms"?'


def test_a_pipe_that_closes_early_causes_no_error():
    answer = in_a_shell("tussle list metrics | head -n 1")
    assert answer.stdout.split() == ["name", "definition"]
    assert answer.stderr == ""


def test_a_pipe_gets_whole_plain_lines():
    out = in_a_shell("tussle list algorithms", FORCE_COLOR="", NO_COLOR="1", COLUMNS="20").stdout
    assert "\x1b" not in out
    assert "One packet more per round trip, half the window after a loss." in out
    assert all(line == line.rstrip() for line in out.splitlines())


def test_the_schema_is_json(tussle_):
    assert json.loads(tussle_("scenario", "schema").out) == Scenario.model_json_schema()


# --- checking scenarios ---


def test_a_valid_scenario_is_confirmed_with_its_axes(tussle_, quick: Path):
    assert tussle_("scenario", "check", quick).out.splitlines() == [
        f"{quick} is valid: 2 runs",
        "  flows.0.algorithm: reno, cubic",
    ]


def test_a_valid_scenario_is_confirmed_with_its_cases(tussle_, tmp_path: Path):
    cases = """
[[cases]]
"path.rtt" = "1 ms"
"path.queue.limit" = "5 packets"

[[cases]]
"path.rtt" = "2 ms"
"path.queue.limit" = "10 packets"
"""
    (tmp_path / "cases.toml").write_text(QUICK + cases, encoding="utf-8")
    assert tussle_("scenario", "check", "cases.toml").out.splitlines() == [
        "cases.toml is valid: 4 runs",
        "  flows.0.algorithm: reno, cubic",
        "  cases: 2, which set path.rtt, path.queue.limit",
    ]


@pytest.mark.parametrize("name", ready_scenarios())
def test_ready_scenarios_are_found_by_name(tussle_, name: str):
    assert tussle_("scenario", "check", name).out.startswith(f"{name} is valid")


def test_all_mistakes_of_a_scenario_are_listed(tussle_, tmp_path: Path):
    (tmp_path / "lte.toml").write_text(
        QUICK.replace("5 Mbit/s", "0 Mbit/s").replace("reno", "rino"), encoding="utf-8"
    )
    answer = tussle_("scenario", "check", "lte.toml")
    assert (answer.status, answer.out) == (2, "")
    assert answer.problems.splitlines() == [
        "tussle: scenario lte.toml, path.rate: 0 Mbit/s; give more than 0",
        'tussle: scenario lte.toml, flows.0.algorithm: unknown algorithm "rino"; did you mean "reno"?',
    ]


def test_a_setting_replaces_a_value(tussle_, quick: Path):
    answer = tussle_(
        "scenario", "check", quick, "--set", "flows.0.algorithm=vegas", "--set", 'path.rtt=["1 ms", "2 ms"]'
    )
    assert answer.out.splitlines() == [f"{quick} is valid: 2 runs", "  path.rtt: 1 ms, 2 ms"]


@pytest.mark.parametrize(
    ("setting", "sentence"),
    [
        ("path.rate=5 Mbits", 'scenario, path.rate: "5 Mbits" has an unknown unit; did you mean Mbit/s?'),
        ("path.rat=5 Mbit/s", 'scenario, path: unknown key "rat"; did you mean "rate"?'),
        ("flows.7.start=1 s", "setting flows.7.start: there is no item 7; the items are 0 to 0"),
        ("path.rate", '--set "path.rate": write KEY=VALUE, like path.rate="50 Mbit/s"'),
    ],
)
def test_a_wrong_setting_is_refused(tussle_, quick: Path, setting: str, sentence: str):
    assert refused(tussle_("run", quick, "--set", setting)) == sentence


def test_an_unknown_scenario_is_refused_with_the_nearest_ready_one(tussle_):
    assert (
        refused(tussle_("run", "rtt-unfairnes"))
        == 'unknown scenario "rtt-unfairnes"; did you mean "rtt-unfairness"?'
    )


# --- running ---


def test_a_run_ends_with_a_short_table_and_a_report(tussle_, quick: Path, tmp_path: Path):
    answer = tussle_("run", quick, "--workers", 1)
    assert answer.status == 0, answer.problems
    assert "goodput" in answer.out
    assert answer.out.splitlines()[-1] == "report: results/quick/report.html"
    assert (tmp_path / "results/quick/report.html").stat().st_size > 0


ARRIVING = """
question = "What do many small flows see of a large one?"
duration = "20 s"
repetitions = 1

[path]
rate = "5 Mbit/s"
rtt = "20 ms"

[[flows]]
name = "web"
algorithm = "reno"
start = "2 s"
arrivals = "0.25 s"
bytes = "3 kB"

[[flows]]
name = "download"
algorithm = "cubic"
"""


def test_arriving_flows_share_one_row_with_their_completion_time(tussle_, tmp_path: Path):
    """From 2.25 to 19.75 s one comes each quarter of a second; 3 kB are three packets, so one window.

    With the handshake they take one and a half round trips of at least 20 ms until they are there. SYN and
    data wait behind the download besides, 5 ms each and more of the 20 ms that its queue may hold.
    """
    file = tmp_path / "arriving.toml"
    file.write_text(ARRIVING, encoding="utf-8")
    answer = tussle_("run", file, "--workers", 1)
    assert answer.status == 0, answer.problems
    row, download = (line.split() for line in answer.out.splitlines() if "web" in line or "download" in line)
    number, _, who, algorithm, _, took_s, *_ = row
    assert (number, who, algorithm) == ("71", "web", "reno")
    completion_s = tussle.open("results/arriving").flows.collect()["completion_s"].drop_nulls()
    assert float(took_s) == pytest.approx(completion_s.median(), abs=0.0005)
    assert float(took_s) >= 0.04
    assert download[:2] == ["download", "cubic"]
    assert download[3] == "-", "it did not end"
    assert "a row has the medians of all flows whose names differ by a number" in answer.out


def test_two_flows_of_one_algorithm_never_share_a_row(tussle_, quick: Path):
    rates = ", ".join(f'"{rate} Mbit/s"' for rate in range(2, 23))
    answer = tussle_(
        *("run", quick, "--workers", 1, "--set", "flows.0.algorithm=reno", "--set", "flows.0.count=2"),
        *("--set", f"path.rate=[{rates}]", "--set", "duration=1 s"),
    )
    assert answer.status == 0, answer.problems
    assert sum("flow-1" in line for line in answer.out.splitlines()) == 20
    assert "and 2 more rows in the report" in answer.out


@pytest.mark.parametrize(
    ("options", "note"),
    [
        (("--repetitions", 2), "all repetitions of a point are identical, because nothing is random"),
        (("--set", "path.queue.kind=fq_codel"), "randomness does not matter here"),
    ],
)
def test_identical_repetitions_are_reported(tussle_, quick: Path, options, note: str):
    """The flow hash of fq_codel is random, but a single flow always has a queue to itself."""
    assert note in tussle_("run", quick, "--workers", 1, *options).problems


def test_a_steady_interval_of_few_round_trips_is_reported(tussle_, tmp_path: Path):
    """A flow that joins at 2.9 of 3 s leaves two thirds of 0.1 s: 3.3 round trips of 20 ms."""
    file = tmp_path / "late.toml"
    file.write_text(f'{QUICK}\n[[flows]]\nalgorithm = "reno"\nstart = "2.9 s"\n', encoding="utf-8")
    answer = tussle_("run", file, "--workers", 1, "--set", "flows.0.algorithm=reno", "--repetitions", 1)
    assert answer.status == 0, answer.problems
    assert "interval of 1 of 1 runs is shorter than 10 round trips (3.3 at least)" in answer.problems
    assert "1 of 1 runs, below 10 round trips" in Path("results/late/report.html").read_text("utf-8")


def test_several_scenarios_are_run_one_after_the_other(tussle_, quick: Path, tmp_path: Path):
    other = tmp_path / "other.toml"
    other.write_text(QUICK.replace("Does it", "Does the other one"), encoding="utf-8")
    answer = tussle_("run", quick, other, "-o", "both", "--workers", 1)
    assert answer.status == 0, answer.problems
    lines = [line for line in answer.out.splitlines() if "work?" in line or line.startswith("report: ")]
    assert lines == [
        "quick: Does it work?",
        "report: both/quick/report.html",
        "other: Does the other one work?",
        "report: both/other/report.html",
    ]
    again = refused(tussle_("run", "rtt-unfairness", quick, "-o", "both"))
    assert again.startswith("both/quick exists already")
    assert not (tmp_path / "both/rtt-unfairness").exists()


def test_two_scenarios_of_one_name_are_refused(tussle_, quick: Path):
    assert refused(tussle_("run", quick, quick)).startswith(
        "two of the scenarios would write into results/quick;"
    )


def test_the_same_run_twice_gives_the_same_digest(tussle_, quick: Path, tmp_path: Path):
    for folder, workers in {"once": 1, "again": 2}.items():
        assert tussle_("run", quick, "-o", folder, "--workers", workers).status == 0
    digests = [
        json.loads((tmp_path / each / "provenance.json").read_text())["digest"] for each in ("once", "again")
    ]
    assert digests[0] == digests[1]


def test_the_recorded_command_repeats_the_results(tussle_, quick: Path, tmp_path: Path):
    assert tussle_("run", quick, "-o", "a folder", "--seed", 5, "--repetitions", 2).status == 0
    first = json.loads((tmp_path / "a folder/provenance.json").read_text())
    assert in_a_shell(f"cd {tmp_path} && {first['command']}").returncode == 0
    again = json.loads((tmp_path / "a folder-again/provenance.json").read_text())
    assert again["digest"] == first["digest"]


def test_an_existing_output_folder_is_not_overwritten(tussle_, quick: Path, tmp_path: Path):
    (tmp_path / "mine").mkdir()
    (tmp_path / "mine/thesis.txt").write_text("years of work")
    assert "mine" in refused(tussle_("run", quick, "-o", "mine"))
    assert [each.name for each in (tmp_path / "mine").iterdir()] == ["thesis.txt"]


def test_an_interrupted_run_prints_the_command_that_resumes_it(quick: Path, tmp_path: Path):
    command = ["tussle", "run", str(quick), "-o", "slow", "--set", "duration=2000 s", "--repetitions", "50"]
    process = subprocess.Popen(
        [Path(sys.executable).parent / command[0], *command[1:]],
        cwd=tmp_path,
        stderr=subprocess.PIPE,
        text=True,
    )
    give_up = time.monotonic() + 60
    while not list((tmp_path / "slow.partial").glob("runs/*/*.zip")) and time.monotonic() < give_up:
        time.sleep(0.1)
    process.send_signal(signal.SIGINT)
    _, problems = process.communicate(timeout=30)
    assert process.returncode == 130
    assert "Traceback" not in problems
    assert "repeat the same command to go on" in problems


def test_a_matrix_compares_every_ordered_pair(tussle_, tmp_path: Path):
    answer = tussle_("matrix", "--algorithms", "reno,vegas", "--duration", "6 s", "--stagger", "1s")
    assert answer.status == 0, answer.problems
    assert answer.out.splitlines()[-1] == "report: results/matrix-lan/report.html"
    scenario = Scenario.load(tmp_path / "results/matrix-lan/scenario.toml")
    assert [tuple(point.axes.values()) for point in scenario.points()] == [
        ("reno", "reno"),
        ("reno", "vegas"),
        ("vegas", "reno"),
        ("vegas", "vegas"),
    ]
    assert [flow.start for flow in scenario.flows] == ["0 s", "1s"]


def test_a_matrix_of_an_unknown_algorithm_is_refused(tussle_):
    answer = tussle_("matrix", "--algorithms", "reno,cubik")
    assert refused(answer) == '--algorithms: unknown algorithm "cubik"; did you mean "cubic"?'


@pytest.mark.parametrize("duration", [("--duration", "2s"), ("--set", "duration=2s")])
def test_a_matrix_of_short_runs_starts_the_second_flow_after_half_of_them(
    tussle_, tmp_path: Path, duration: tuple[str, str]
):
    answer = tussle_("matrix", "--algorithms", "reno", "--repetitions", 1, *duration)
    assert answer.status == 0, answer.problems
    said = "the second algorithm's flows start after 1 s, half of the run (--stagger changes it)"
    assert said in answer.problems.splitlines()
    scenario = Scenario.load(tmp_path / "results/matrix-lan/scenario.toml")
    assert [flow.start for flow in scenario.flows] == ["0 s", "1 s"]


def test_a_given_stagger_is_refused_if_it_is_not_before_the_end_of_the_run(tussle_):
    given = ("--duration", "5 s", "--stagger", "10 s")
    message = "--stagger: 10 s (and up to 20 ms of jitter) is not before the end of the run at 5 s"
    assert refused(tussle_("matrix", "--algorithms", "reno,cubic", *given)) == message


@pytest.mark.parametrize(
    ("option", "value", "reason"),
    [
        ("--duration", "long", '--duration: "long" is not a time; write one like "40 ms"'),
        ("--stagger", "-1 s", '--stagger: -1 s is negative; give a time like "40 ms"'),
        ("--profile", "lann", '--profile: unknown profile "lann"; did you mean "lan"?'),
        ("--repetitions", "0", "--repetitions: 0 is out of range; give 1 to 100000"),
    ],
)
def test_errors_of_a_matrix_name_its_options(tussle_, option: str, value: str, reason: str):
    assert refused(tussle_("matrix", "--algorithms", "reno,cubic", option, value)) == reason


def test_a_matrix_of_a_group_and_an_algorithm_compares_all_of_them(tussle_, tmp_path: Path):
    answer = tussle_(
        *("matrix", "--algorithms", "dctcp,linux13,reno", "--duration", "100 ms", "--stagger", "10 ms"),
        *("--set", "record.samples=off", "--set", "flows.1.algorithm=reno", "--repetitions", "1"),
    )
    assert answer.status == 0, answer.problems
    scenario = Scenario.load(tmp_path / "results/matrix-lan/scenario.toml")
    thirteen = groups()["linux13"].algorithms
    assert scenario.axes()["flows.0.algorithm"] == ("dctcp", *thirteen[1:], "reno")


def test_an_unknown_group_is_refused_with_the_nearest_name(tussle_):
    answer = tussle_("matrix", "--algorithms", "linux14")
    assert refused(answer) == '--algorithms: unknown algorithm "linux14"; did you mean "linux13"?'


def test_a_report_and_figures_are_made_from_a_dataset(tussle_, quick: Path, tmp_path: Path):
    assert tussle_("run", quick, "-o", "quick", "--workers", 1).status == 0
    assert tussle_("report", "quick", "-o", "page.html").out == "report: page.html\n"
    for suffix in ("png", "svg", "pdf", "html"):
        assert tussle_("plot", "quick", "window", "-o", f"x.{suffix}").out == f"figure: x.{suffix}\n"
        assert (tmp_path / f"x.{suffix}").stat().st_size > 0


def test_a_figure_of_an_interval_is_drawn(tussle_, quick: Path, tmp_path: Path):
    tussle_("run", quick, "-o", "quick", "--workers", 1)
    plot = ("plot", "quick", "window", "--point", 0, "-o", "part.svg")
    assert tussle_(*plot, "--from", "1 s", "--to", "2 s").status == 0
    labels = re.findall(r">([\d.]+)</text>", (tmp_path / "part.svg").read_text())
    assert {"1.0", "2.0"} <= set(labels)
    assert not {"0.5", "2.5", "3.0"} & set(labels)
    assert "has no unit" in refused(tussle_(*plot, "--from", "1"))
    assert "the runs last 3 s" in refused(tussle_(*plot, "--from", "2 s", "--to", "1 s"))
    assert "the runs last 3 s" in refused(tussle_(*plot, "--from", "4 s"))


def test_two_datasets_are_laid_over_each_other(tussle_, quick: Path, tmp_path: Path):
    for name, seed in (("one", 1), ("other", 2)):
        tussle_("run", quick, "-o", name, "--workers", 1, "--seed", seed)
    plot = ("plot", "one", "overlay", "-o", "both.svg")
    assert tussle_(*plot, "--beside", "other").status == 0
    assert "in colour: one; grey and dashed: other" in (tmp_path / "both.svg").read_text()
    assert "--beside" in refused(tussle_(*plot))
    assert refused(tussle_(*plot, "--beside", "nowhere")).startswith("nowhere does not exist")


@pytest.mark.parametrize("command", [("report",), ("plot",)])
def test_results_that_do_not_exist_are_refused(tussle_, command: Sequence[str]):
    more = ["window"] if command == ("plot",) else []
    assert refused(tussle_(*command, "nowhere", *more)).startswith("nowhere does not exist")


def test_runs_whose_hosts_did_not_keep_up_are_reported(tmp_path: Path) -> None:
    path = {"rate": ["10 Mbit/s", "20 Mbit/s"], "rtt": "20 ms"}
    asked = Scenario.from_dict({"duration": "10 s", "path": path, "flows": [{"algorithm": "reno"}]})
    dataset = sweep(asked, tmp_path / "out", SweepSettings(workers=1, engine=MeasuringEngine()))
    note = note_on_hosts(dataset)
    assert note.startswith("in 1 of 2 runs a host did not keep up; ")
    assert note.endswith("\n  run 1: too late")
    asked = asked.with_settings({"path.rate": "10 Mbit/s"})
    others = sweep(asked, tmp_path / "others", SweepSettings(workers=1, engine=MeasuringEngine()))
    assert note_on_hosts(others) == ""
