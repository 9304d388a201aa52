"""`tussle paper`: the smallest part of each study on each engine, and what is refused."""

import html
import re
from collections.abc import Mapping
from concurrent.futures import Executor, Future
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commandline import refused
from tussle.dataset import Dataset
from tussle.engines.sim import SimEngine
from tussle.errors import TussleError
from tussle.papers import Setting, Study, planned, results_in, rows
from tussle.sweep import SweepSettings, finished_runs, sweep

LAN = ("lan-pairs", "--part", "matrix", "--quick")
NEAR = ("buffer-provisioning", "--part", "near", "--quick", "--algorithms", "westwood")
SATELLITE = ("linux-variants", "--part", "satellite-one", "--quick")
PHONE = ("hsdpa", "--part", "downlink", "--quick", "--algorithms", "westwood")
SINGLE = ("buffer-provisioning", "--part", "single", "--quick", "--algorithms", "reno")


def answer_to(conclusion: str, out: str) -> str:
    """Return the command's answer to a conclusion: the last non-empty cell of its row."""
    [line] = [line for line in out.splitlines() if conclusion in line]
    return line.strip("│ ").split("│")[-1].strip()


def test_the_smallest_matrix_of_the_lan_is_compared_cell_by_cell(tussle_, tmp_path):
    answer = tussle_("paper", *LAN, "--algorithms", "vegas,reno", "-o", "lan")
    assert answer.status == 0
    assert "runs: matrix 4; about" in answer.out
    assert answer_to("Vegas has the smallest mean share", answer.out) == "holds"
    page = (tmp_path / "lan" / "index.html").read_text("utf-8")
    # Published: Vegas first 9, Reno 94; Reno first 94, Vegas 9.
    assert re.search(r"<td>vegas, reno\s*<td>9\s*<td>[\d.]+‡<td>[+-]\d+ %", page)
    rows = (tmp_path / "lan" / "comparison.csv").read_text("utf-8").splitlines()
    # Four pairs, two flows each, below the header.
    assert len(rows) == 1 + 4 * 2


@pytest.mark.usefixtures("kernel")
def test_the_page_shows_both_engines_when_both_have_run(tussle_, tmp_path):
    arguments = ("paper", *LAN, "--algorithms", "vegas,reno", "-o", "lan")
    first = tussle_(*arguments)
    answer = tussle_(*arguments, "--engine", "kernel")
    assert answer.status == 0
    assert ", or less if links are not full" in first.out
    # The simulator has counted the packets.
    assert re.search(r"runs: matrix 4; about \d+ s with \d+ at a time$", answer.out, re.MULTILINE)
    assert answer_to("Vegas has the smallest mean share", answer.out) == "holds"
    assert Dataset.open(tmp_path / "lan" / "kernel" / "matrix").provenance["engine"]["name"] == "kernel"
    page = (tmp_path / "lan" / "index.html").read_text("utf-8")
    assert 'id="sim-matrix"' in page
    assert 'id="kernel-matrix"' in page


def test_reno_fills_the_link_with_a_buffer_of_1_bdp_and_not_with_0_1_bdp(tussle_):
    answer = tussle_("paper", *SINGLE)
    assert answer.status == 0
    assert answer_to("Reno fills the link with a buffer", answer.out) == "holds"


@pytest.mark.parametrize("arguments", [SATELLITE], ids=["linux-variants"])
def test_the_smallest_part_of_the_testbed_has_the_rate_of_its_satellite(tussle_, arguments, tmp_path):
    """2048 kbit/s without headers of 52 in 1500 bytes are 1977 kbit/s at most; printed: 0.394 Mbit/s."""
    assert tussle_("paper", *arguments, "--algorithms", "reno", "-o", "one").status == 0
    goodput = Dataset.open(tmp_path / "one" / "sim" / "satellite-one").flows.collect()["goodput_bit_per_s"]
    assert 1.2e6 < goodput[0] < 1.977e6


@pytest.mark.usefixtures("kernel")
@pytest.mark.parametrize(
    "arguments",
    [(*NEAR, "--profile", "dsl"), (*SATELLITE, "--algorithms", "reno"), PHONE],
    ids=["buffer-provisioning", "linux-variants", "hsdpa"],
)
def test_the_smallest_part_of_a_study_runs_on_linux(tussle_, arguments):
    answer = tussle_("paper", *arguments, "--engine", "kernel")
    assert answer.status == 0
    assert "page: " in answer.out


def test_over_a_mobile_link_bic_and_cubic_have_longer_rtts_than_westwood_and_reno(tussle_, tmp_path: Path):
    answer = tussle_("paper", "hsdpa", "--part", "downlink", "--quick", "-o", "phone")
    assert answer.status == 0
    shortest = answer_to("Downlink, Westwood+ has the shortest RTTs", answer.out)
    assert shortest in ("holds", "depends")
    assert answer_to("All four get much the same goodput", answer.out) == "not run"
    # What the quick setting made is marked where it stands.
    page = (tmp_path / "phone" / "index.html").read_text("utf-8")
    assert f'<td class="words {shortest}">{shortest} †' in page
    assert re.search(r"<td>[\d.]+†", page)
    assert "†: from the quick setting, with shorter or fewer runs than in the study" in page
    assert "not run †" not in page


def test_a_study_runs_with_other_algorithms_and_another_profile(tussle_, tmp_path):
    changed = ("--algorithms", "bbr,cubic", "--profile", "dsl")
    answer = tussle_("paper", *LAN, *changed)
    assert answer.status == 0
    folder = tmp_path / "results" / "paper-lan-pairs-quick-dsl-bbr-cubic"
    assert "tussle paper lan-pairs --quick --part matrix" in (folder / "index.html").read_text("utf-8")


def test_the_hosts_of_a_study_stand_beside_those_of_today(tussle_, tmp_path: Path):
    """Westwood, joined by Reno: printed 90 and 13. Its smallest RTT is a tick: 10 ms in the study."""
    part = ("--part", "matrix", "--quick", "--algorithms", "reno,westwood", "-o", "lan")
    assert tussle_("paper", "lan-pairs", *part).status == 0
    answer = tussle_("paper", "lan-pairs", *part, "--study-hosts")
    assert answer.status == 0
    study = Study.load("lan-pairs")
    results = results_in(study, tmp_path / "lan")
    assert list(results) == ["sim", "sim-study-hosts"]
    own = results["sim-study-hosts"]["matrix"].scenario
    assert study.hosts is not None
    assert own == own.with_settings(study.hosts.settings)
    [row] = [each for each in rows(study, study.tables[0], results) if each.words == "westwood, reno"]
    today, then = (row.found[engine]["first_mbit_per_s"].mean for engine in results)
    assert then > today + 15
    page = html.unescape((tmp_path / "lan" / "index.html").read_text("utf-8"))
    assert "simulator, the study's hosts" in page
    assert study.hosts.about in page
    opening, _, _ = page.partition("What was done")
    counted = (
        rf"<li>Of {len(study.statements)} conclusions \d+ holds? on the simulator and \d+ on the simulator"
    )
    assert re.search(rf"{counted} with the study's hosts", opening)
    assert "<code>hosts.profile = linux-2.6.32</code>" in page


@pytest.mark.parametrize(("part", "swept"), [("noise", "hosts.noise"), ("tick", "hosts.hz")])
def test_a_part_that_sweeps_a_setting_of_the_studys_hosts_keeps_its_values(part: str, swept: str):
    study = Study.load("lan-pairs")
    assert study.hosts is not None
    assert swept in study.hosts.settings
    today, then = (planned(study, part, Setting(study_hosts=own)) for own in (False, True))
    others = {key: value for key, value in study.hosts.settings.items() if key != swept}
    assert then == today.with_settings(others)
    assert len({run.axes[swept] for run in then.runs()}) >= 3


def test_without_time_for_a_packet_flows_of_the_lan_lock_in_phase_and_with_some_they_share(tmp_path: Path):
    """Reno, Hybla and YeAH share fairly with one another in print. Single runs of 20 s lock by chance."""
    setting = Setting("quick", ("reno", "hybla", "yeah"), study_hosts=True)
    scenario = planned(Study.load("lan-pairs"), "noise", setting).with_settings({"repetitions": 5})
    data = sweep(scenario, tmp_path / "noise", SweepSettings())
    goodput = pl.col("goodput_bit_per_s")
    less = data.flows.collect().group_by("run").agg(less=goodput.min() / goodput.sum())
    unlike = data.runs.collect().filter(pl.col("flows.0.algorithm") != pl.col("flows.1.algorithm"))
    by_noise = unlike.join(less, on="run").group_by("hosts.noise").agg(pl.col("less").mean())
    share = dict(by_noise.iter_rows())
    assert share["uniform(0 us, 0 us)"] < 0.2
    assert all(share[f"uniform(0 us, {most} us)"] > 0.35 for most in (10, 30, 100, 300))


def test_parts_that_an_engine_lacks_are_left_out_with_a_reason_and_refused_when_they_are_named(
    tussle_, monkeypatch: pytest.MonkeyPatch
):
    def refuse(_engine: SimEngine, run: Mapping[str, Any]) -> None:
        if run["hosts"]["hz"] != 250:
            raise TussleError(f"hosts.hz: {run['hosts']['hz']}; this engine has 250 ticks per second")

    monkeypatch.setattr(SimEngine, "check", refuse)
    small = ("lan-pairs", "--quick", "--algorithms", "vegas")
    answer = tussle_("paper", *small)
    assert answer.status == 0
    assert answer.problems == "left out: tick (hosts.hz: 100; this engine has 250 ticks per second)\n"
    assert "noise: done" in answer.out
    assert "tick" not in answer.out
    sentence = refused(tussle_("paper", *small, "--part", "rtt,tick"))
    assert sentence.startswith("--engine sim cannot run tick (tick: hosts.hz: 100; this engine has 250 ticks")
    assert sentence.endswith("; give --part rtt")


def test_a_study_without_known_hosts_refuses_them():
    unknown = Study.load("hsdpa").model_copy(update={"hosts": None})
    with pytest.raises(TussleError) as raised:
        planned(unknown, "downlink", Setting("quick", study_hosts=True))
    assert str(raised.value) == "--study-hosts: nothing is known of the hosts of hsdpa; leave it out"


def test_on_the_gigabit_the_windows_of_the_study_decide(tussle_, tmp_path: Path):
    """Hybla over 1 Gbit/s: 66.38 Mbit/s are printed at 100 ms. A window of 786 kB allows 62.9 Mbit/s."""
    part = ("--part", "gigabit", "--quick", "--algorithms", "hybla", "-o", "gigabit")
    assert tussle_("paper", "linux-variants", *part).status == 0
    assert tussle_("paper", "linux-variants", *part, "--study-hosts").status == 0
    study = Study.load("linux-variants")
    results = results_in(study, tmp_path / "gigabit")
    compared = [row for row in rows(study, study.tables[0], results) if row.found]
    assert len(compared) == 5
    for row in compared:
        printed = row.published["throughput_mbit_per_s"]
        today, then = (row.found[engine]["throughput_mbit_per_s"].mean for engine in results)
        assert today > 2 * printed
        assert then == pytest.approx(printed, rel=0.3)


def test_existing_results_are_reused(tussle_, tmp_path):
    arguments = ("paper", *LAN, "--algorithms", "vegas,reno", "-o", "lan")
    tussle_(*arguments)
    written = {file: file.stat().st_mtime_ns for file in (tmp_path / "lan").glob("sim/*/*.parquet")}
    assert written
    again = tussle_(*arguments)
    assert "runs:" not in again.out
    assert {file: file.stat().st_mtime_ns for file in written} == written
    other = tussle_("paper", *LAN, "--algorithms", "vegas,bic", "-o", "lan")
    assert "holds results of other settings; give another folder (-o)" in refused(other)


class Failing(Executor):
    """An executor that loses all tasks but the first two."""

    tasks = 0

    def submit(self, fn, /, *args, **kwargs):
        self.tasks += 1
        future = Future()
        if self.tasks > 2:
            future.set_exception(ConnectionError("the cluster is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_the_estimate_of_a_repeated_command_leaves_finished_runs_out(tussle_, tmp_path):
    scenario = planned(Study.load("lan-pairs"), "matrix", Setting("quick", ("vegas", "reno")))
    place = tmp_path / "lan/sim/matrix"
    with pytest.raises(TussleError, match="the cluster is gone"):
        sweep(scenario, place, SweepSettings(executor=Failing()))
    kept, runs = len(finished_runs(place)), len(scenario.runs())
    assert 0 < kept < runs
    repeated = tussle_("paper", *LAN, "--algorithms", "vegas,reno", "-o", "lan")
    assert f"runs: matrix {runs - kept} of {runs}; about" in repeated.out


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (("lan-pear",), 'unknown study "lan-pear"; did you mean "lan-pairs"?'),
        (
            ("lan-pairs", "--part", "matrx"),
            '--part: unknown part of lan-pairs "matrx"; did you mean "matrix"?',
        ),
        (("lan-pairs", "--engine", "hosts"), '--engine: unknown engine "hosts"; there are sim, kernel'),
        (("lan-pairs", "--algorithms", "cubik"), '--algorithms: unknown algorithm "cubik"'),
        (("lan-pairs", "--profile", "fibre"), 'did you mean "fiber"?'),
        (
            ("hsdpa", "--profile", "lte", "--part", "outages"),
            "--profile: outages sweeps path.elements.0.down of the study's path; leave the option or "
            "the part",
        ),
    ],
)
def test_an_unknown_argument_is_refused_with_the_valid_ones(tussle_, arguments, sentence):
    assert sentence in refused(tussle_("paper", *arguments))


@pytest.mark.usefixtures("kernel")
def test_an_unsuitable_engine_is_refused_before_the_first_run(tussle_, tmp_path):
    (tmp_path / "mine.py").write_text(
        "from tussle.algorithm import Algorithm\n\n\nclass Mine(Algorithm):\n    pass\n"
    )
    answer = tussle_("paper", *LAN, "--algorithms", "mine.py:Mine", "--engine", "kernel")
    sentence = refused(answer)
    assert sentence.startswith("--engine kernel cannot run matrix (matrix: ")
    assert "is written in Python, for the simulator" in sentence
    assert sentence.endswith("give --engine sim")
    assert not (tmp_path / "results").exists()
