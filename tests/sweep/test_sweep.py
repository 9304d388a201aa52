"""Sweeps with an engine that executes runs instantly."""

import filecmp
import io
import os
import re
import signal
import subprocess
import sys
import tempfile
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from hypothesis import given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st
from rich.console import Console

from fake_engine import (
    FakeEngine,
    MissingColumnEngine,
    RealTimeEngine,
    executed,
    fails_on_20_mbit_per_s,
    has_a_mistake,
    is_interrupted_on_20_mbit_per_s,
    is_killed_on_20_mbit_per_s,
    takes_a_moment,
)
from tussle.dataset import TABLES, Dataset
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import Order, SweepSettings, sweep
from tussle.sweep.partial import Partial, open_partial
from tussle.sweep.progress import ProgressBar, Silent
from tussle.workers.costs import Cost
from tussle.workers.task import Task, execute

SCENARIO = Scenario.from_dict(
    {
        "duration": "10 s",
        "repetitions": 2,
        "path": {"rate": ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"], "rtt": "20 ms"},
        "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}],
    }
)
RUNS = 12
INLINE = SweepSettings(workers=1, engine=FakeEngine())


def settings(engine: FakeEngine) -> SweepSettings:
    return SweepSettings(workers=1, engine=engine)


def same_files(one: Path, other: Path) -> bool:
    names = [table.file_name for table in TABLES.values()] + ["scenario.toml"]
    _, different, failed = filecmp.cmpfiles(one, other, names, shallow=False)
    return not different and not failed


def partial_of(folder: Path) -> Path:
    return folder.with_name(f"{folder.name}.partial")


def stored(folder: Path) -> int:
    return len(Partial(partial_of(folder)).finished())


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return sweep(SCENARIO, tmp_path_factory.mktemp("reference") / "out", INLINE)


def test_every_run_of_the_plan_is_in_every_table(reference: Dataset) -> None:
    for name in ("runs", "flows", "samples", "links"):
        assert reference.table(name).select("run").unique().collect().height == RUNS
    runs = reference.runs.collect()
    assert runs["run"].to_list() == list(range(RUNS))
    assert runs["path.rate"].unique(maintain_order=True).to_list() == ["10 Mbit/s", "20 Mbit/s", "30 Mbit/s"]
    assert runs["link_rate_bit_per_s"].unique(maintain_order=True).to_list() == [10e6, 20e6, 30e6]
    # 10 Mbit/s for 20 ms, in packets of 1500 bytes: 10^7 * 0.02 / 12000 = 16.7
    assert runs["buffer_packets"][0] == 17
    assert runs["base_rtt_ms"].unique().to_list() == [20.0]


def test_internals_are_empty_in_runs_of_other_algorithms(reference: Dataset) -> None:
    joined = reference.samples.join(reference.runs, on="run").collect()
    reno = joined["flows.0.algorithm"] == "reno"
    assert joined.columns[12:14] == ["cubic.quantity", "reno.quantity"]
    assert joined.filter(reno)["cubic.quantity"].null_count() == reno.sum()
    assert joined.filter(reno)["reno.quantity"].null_count() == 0


@pytest.mark.parametrize("workers", [2, 3])
def test_processes_write_the_same_bytes_as_one_worker(
    reference: Dataset, tmp_path: Path, workers: int
) -> None:
    again = sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=workers, engine=FakeEngine()))
    assert same_files(reference.folder, again.folder)
    assert reference.provenance["digest"] == again.provenance["digest"]


def test_a_custom_executor_writes_the_same_bytes(reference: Dataset, tmp_path: Path) -> None:
    with ThreadPoolExecutor(3) as threads:
        again = sweep(SCENARIO, tmp_path / "out", SweepSettings(executor=threads, engine=FakeEngine()))
    assert same_files(reference.folder, again.folder)


class Forgetful(Executor):
    """An executor that loses the third task."""

    tasks = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        future: Future[Any] = Future()
        if self.tasks == 3:
            future.set_exception(ConnectionError("the cluster is gone"))
        else:
            future.set_result(fn(*args, **kwargs))
        return future


def test_an_executor_that_fails_is_quoted_and_finished_runs_are_kept(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(TussleError, match=r"run 2 .*ConnectionError: the cluster is gone .*, kept in"):
        sweep(SCENARIO, folder, SweepSettings(executor=Forgetful(), engine=FakeEngine()))
    assert stored(folder) >= 2


class Counted(ThreadPoolExecutor):
    """An executor that counts its tasks."""

    tasks = 0

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        self.tasks += 1
        return super().submit(fn, *args, **kwargs)


def test_short_runs_are_batched_into_one_task(tmp_path: Path) -> None:
    many = SCENARIO.set("repetitions", 20)
    with Counted(1) as executor:
        dataset = sweep(many, tmp_path / "out", SweepSettings(executor=executor, engine=FakeEngine()))
    assert dataset.runs.collect().height == 120
    # The first tasks have one run, since nobody knows yet how long one takes.
    assert 1 < executor.tasks < 120
    one_by_one = sweep(many, tmp_path / "one", INLINE)
    assert same_files(dataset.folder, one_by_one.folder)


def test_a_failed_run_of_a_batch_is_named_and_earlier_runs_are_kept(tmp_path: Path) -> None:
    # Runs 0 to 39 are over 10 Mbit/s.
    many, folder = SCENARIO.set("repetitions", 20), tmp_path / "out"
    with Counted(1) as executor:
        failing = SweepSettings(executor=executor, engine=FakeEngine(fails_on_20_mbit_per_s))
        with pytest.raises(TussleError, match=r"^run 40 .* 20 Mbit/s is too much"):
            sweep(many, folder, failing)
    assert Partial(partial_of(folder)).finished() >= set(range(40))


def test_a_run_with_invalid_tables_is_named_and_earlier_runs_are_kept(tmp_path: Path) -> None:
    many, folder = SCENARIO.set("repetitions", 20), tmp_path / "out"
    with ThreadPoolExecutor(1) as executor:
        misfit = SweepSettings(executor=executor, engine=MissingColumnEngine())
        with pytest.raises(
            TussleError, match=r"^run 40 .* table samples does not fit: column srtt_ms is missing"
        ):
            sweep(many, folder, misfit)
    assert Partial(partial_of(folder)).finished() >= set(range(40))


def test_another_seed_gives_another_digest(reference: Dataset, tmp_path: Path) -> None:
    other = sweep(SCENARIO.set("seed", 99), tmp_path / "out", INLINE)
    assert other.provenance["digest"] != reference.provenance["digest"]


def test_a_finished_sweep_leaves_nothing_but_its_folder(tmp_path: Path) -> None:
    sweep(SCENARIO, tmp_path / "deep" / "er" / "out", INLINE)
    assert [path.name for path in (tmp_path / "deep" / "er").iterdir()] == ["out"]


IMPORTED = [str(Path(__file__).parent), str(Path(__file__).parent.parent / "support")]
"""Folders of the modules that scripts import."""

SWEEP_SCRIPT = """
import sys
from pathlib import Path
sys.path[:0] = {tests!r}
from fake_engine import FakeEngine, takes_a_moment
from test_sweep import SCENARIO
from tussle.sweep import SweepSettings, sweep
if __name__ == "__main__":
    engine = FakeEngine(takes_a_moment, Path({log!r}))
    sweep(SCENARIO, {folder!r}, SweepSettings(workers={workers}, engine=engine))
"""


def start_sweep(folder: Path, log: Path, workers: int) -> subprocess.Popen[str]:
    """Start a sweep in a process group of its own, like a shell."""
    script = folder.with_name("script.py")
    script.write_text(SWEEP_SCRIPT.format(tests=IMPORTED, log=str(log), folder=str(folder), workers=workers))
    return subprocess.Popen(
        [sys.executable, str(script)], stderr=subprocess.PIPE, text=True, start_new_session=True
    )


def wait_until_stored(folder: Path, runs: int) -> None:
    give_up = time.monotonic() + 60
    while stored(folder) < runs:
        assert time.monotonic() < give_up, "the sweep does not proceed"
        time.sleep(0.01)


@pytest.mark.parametrize("workers", [1, 2])
def test_a_killed_sweep_resumes_where_it_stopped(reference: Dataset, tmp_path: Path, workers: int) -> None:
    folder, log = tmp_path / "out", tmp_path / "log"
    with start_sweep(folder, log, workers) as process:
        wait_until_stored(folder, 3)
        process.kill()
    finished = stored(folder)
    assert 3 <= finished < RUNS
    assert not folder.exists()

    # Workers of the killed process end with it; what they still execute nobody stores.
    time.sleep(0.5)
    before = len(log.read_text().splitlines())
    again = sweep(SCENARIO, folder, SweepSettings(workers=2, engine=FakeEngine(takes_a_moment, log)))
    executions = log.read_text().splitlines()
    assert len(executions) - before == RUNS - finished
    assert set(executions) == {executed(planned.run) for planned in SCENARIO.runs()}
    assert same_files(reference.folder, again.folder)
    assert not partial_of(folder).exists()


def test_workers_end_when_the_sweep_is_killed(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with start_sweep(folder, tmp_path / "log", 2) as process:
        wait_until_stored(folder, 1)
        children = children_of(process.pid)
        process.kill()
    assert len(children) >= 2
    give_up = time.monotonic() + 10
    while any(Path(f"/proc/{child}").exists() for child in children):
        assert time.monotonic() < give_up, "workers live on"
        time.sleep(0.05)


def children_of(pid: int) -> list[int]:
    tasks = Path(f"/proc/{pid}/task").glob("*/children")
    return [int(child) for task in tasks for child in task.read_text().split()]


def test_ctrl_c_keeps_finished_runs_and_prints_one_trace_at_most(reference: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with start_sweep(folder, tmp_path / "log", 2) as process:
        wait_until_stored(folder, 3)
        os.killpg(process.pid, signal.SIGINT)
        stderr = process.communicate(timeout=20)[1]
    # The script does not catch it: the trace is the script's own, and none comes from a worker.
    assert stderr.count("Traceback") == 1, stderr
    assert "repeat the same command to go on" in stderr.splitlines()[-1]
    assert 3 <= stored(folder) < RUNS
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


def test_an_interrupt_shows_how_to_resume(tmp_path: Path) -> None:
    with pytest.raises(KeyboardInterrupt, match=r"finished runs: 4, kept in .* repeat the same command"):
        sweep(SCENARIO, tmp_path / "out", settings(FakeEngine(is_interrupted_on_20_mbit_per_s)))


@pytest.mark.parametrize("workers", [1, 2])
def test_a_failing_run_is_named_and_the_others_are_kept(tmp_path: Path, workers: int) -> None:
    folder = tmp_path / "out"
    with pytest.raises(TussleError) as failure:
        sweep(SCENARIO, folder, SweepSettings(workers=workers, engine=FakeEngine(fails_on_20_mbit_per_s)))
    sentence = str(failure.value)
    assert "path.rate = 20 Mbit/s" in sentence
    assert "seed" in sentence
    assert "20 Mbit/s is too much for this engine" in sentence
    assert f"finished runs: {stored(folder)}, kept in" in sentence
    assert stored(folder) >= 4


def test_an_exception_in_an_engine_is_reported_as_a_bug(tmp_path: Path) -> None:
    with pytest.raises(TussleError, match=r"run 0 .*ZeroDivisionError: division by zero .*please report"):
        sweep(SCENARIO, tmp_path / "out", settings(FakeEngine(has_a_mistake)))


def test_a_killed_worker_is_reported_and_the_sweep_can_be_resumed(reference: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    killed = SweepSettings(workers=2, engine=FakeEngine(is_killed_on_20_mbit_per_s))
    with pytest.raises(TussleError, match=r"worker process was killed by SIGKILL.*repeat the same command"):
        sweep(SCENARIO, folder, killed)
    assert stored(folder) < RUNS
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


def test_a_run_that_the_engine_refuses_is_found_before_the_first_run(tmp_path: Path) -> None:
    log = tmp_path / "log"
    engine = FakeEngine(log=log, refuses="cubic")
    with pytest.raises(TussleError, match=r"flows.0.algorithm = cubic.*no algorithm cubic here"):
        sweep(SCENARIO, tmp_path / "out", settings(engine))
    assert not log.exists()


def test_an_existing_output_folder_is_not_overwritten(tmp_path: Path) -> None:
    for name in ("file", "folder", "link"):
        path = tmp_path / name
        path.write_text("mine") if name == "file" else path.mkdir() if name == "folder" else path.symlink_to(
            "nowhere"
        )
        with pytest.raises(TussleError, match=f"{name} exists already; give another output folder"):
            sweep(SCENARIO, path, INLINE)
    assert (tmp_path / "file").read_text() == "mine"
    assert not partial_of(tmp_path / "file").exists()


@pytest.mark.parametrize("parent", ["/proc/nowhere", "{tmp}/file"])
def test_an_unwritable_output_folder_is_found_before_the_first_run(tmp_path: Path, parent: str) -> None:
    (tmp_path / "file").write_text("")
    log = tmp_path / "log"
    folder = Path(parent.format(tmp=tmp_path)) / "out"
    with pytest.raises(TussleError, match=r"cannot write .*out\.partial: "):
        sweep(SCENARIO, folder, settings(FakeEngine(log=log)))
    assert not log.exists()


def interrupted_sweep(folder: Path, scenario: Scenario = SCENARIO) -> None:
    with pytest.raises(TussleError, match="too much"):
        sweep(scenario, folder, settings(FakeEngine(fails_on_20_mbit_per_s)))


@pytest.mark.parametrize(
    ("scenario", "engine", "differs"),
    [
        (SCENARIO.set("seed", 99), FakeEngine(), "scenario: seed"),
        (SCENARIO.set("path.rtt", "17 ms"), FakeEngine(), "scenario: path.rtt"),
        (SCENARIO, FakeEngine(version="2"), "engine"),
    ],
)
def test_finished_runs_of_another_sweep_are_not_reused(
    tmp_path: Path, scenario: Scenario, engine: FakeEngine, differs: str
) -> None:
    interrupted_sweep(tmp_path / "out")
    with pytest.raises(TussleError, match=rf"another sweep \({differs} differs\); repeat that sweep"):
        sweep(scenario, tmp_path / "out", settings(engine))
    assert stored(tmp_path / "out") == 4


def test_a_sweep_without_finished_runs_does_not_block_another(reference: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with pytest.raises(TussleError, match="no algorithm cubic here"):
        sweep(SCENARIO.set("seed", 99), folder, settings(FakeEngine(refuses="cubic")))
    assert not partial_of(folder).exists()

    # Killed before its first run was stored:
    (partial_of(folder) / "runs" / "0000").mkdir(parents=True)
    (partial_of(folder) / "sweep.json").write_text("{}")
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


def test_a_foreign_folder_is_not_used_as_a_store(tmp_path: Path) -> None:
    partial_of(tmp_path / "out").mkdir()
    (partial_of(tmp_path / "out") / "letters").write_text("dear")
    with pytest.raises(TussleError, match=r"is not the store of a sweep \(it holds letters\)"):
        sweep(SCENARIO, tmp_path / "out", INLINE)


def test_two_sweeps_cannot_share_an_output_folder(tmp_path: Path) -> None:
    folder = tmp_path / "out"
    with start_sweep(folder, tmp_path / "log", 1) as process:
        wait_until_stored(folder, 1)
        with pytest.raises(TussleError, match="another process is working on"):
            sweep(SCENARIO, folder, INLINE)
        process.kill()


class Repeats(Silent):
    """An engine that counts finished runs which are executed a second time."""

    def __init__(self) -> None:
        self.runs = 0

    def repeat(self, runs: int) -> None:
        self.runs += runs


@pytest.mark.parametrize("keep", [0.0, 0.5, 0.99])
def test_a_truncated_stored_run_is_executed_again(reference: Dataset, tmp_path: Path, keep: float) -> None:
    folder = tmp_path / "out"
    interrupted_sweep(folder)
    victim = sorted(partial_of(folder).glob("runs/*/*.zip"))[1]
    data = victim.read_bytes()
    victim.write_bytes(data[: int(len(data) * keep)])
    repeats = Repeats()
    again = sweep(SCENARIO, folder, replace(INLINE, progress=repeats))
    assert same_files(reference.folder, again.folder)
    assert repeats.runs == 1


@given(data=st.data())
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_changed_byte_of_a_stored_run_is_detected(data: st.DataObject) -> None:
    outcome = execute(Task(0, FakeEngine(), [SCENARIO.runs()[0].run]))
    with tempfile.TemporaryDirectory() as name, open_partial(Path(name) / "out", {"sweep": 1}) as partial:
        partial.store(range(1), outcome.packed)
        [piece] = partial.pieces()
        assert piece.is_whole()
        content = bytearray(piece.path.read_bytes())
        content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
        piece.path.write_bytes(content)
        partial.discard_damaged()
        assert (partial.finished(), partial.discarded) == (set(), 1)


@pytest.mark.parametrize("text", ["", "{", "[]", "\x00" * 100, "[" * 100_000])
def test_stored_runs_without_an_identity_are_executed_again(
    reference: Dataset, tmp_path: Path, text: str
) -> None:
    folder = tmp_path / "out"
    interrupted_sweep(folder)
    (partial_of(folder) / "sweep.json").write_text(text)
    repeats = Repeats()
    again = sweep(SCENARIO, folder, replace(INLINE, progress=repeats))
    assert same_files(reference.folder, again.folder)
    assert repeats.runs == 4


@pytest.mark.skipif(sys.platform != "linux", reason="the names of open files are in /proc")
def test_files_are_synced_before_they_are_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A power cut loses unsynced data: the content of a file, and its name in the folder."""
    log: list[tuple[str, ...]] = []
    synced, renamed = os.fsync, Path.replace

    def fsync(descriptor: int) -> None:
        log.append(("sync", os.readlink(f"/proc/self/fd/{descriptor}")))  # noqa: PTH115 (a descriptor has no path)
        synced(descriptor)

    def rename(path: Path, target: Path) -> Path:
        log.append(("rename", str(path), str(target)))
        return renamed(path, target)

    monkeypatch.setattr(os, "fsync", fsync)
    monkeypatch.setattr(Path, "replace", rename)
    interrupted_sweep(tmp_path / "out")
    renames = [index for index, (operation, *_) in enumerate(log) if operation == "rename"]
    assert len(renames) == 1 + stored(tmp_path / "out")
    for index in renames:
        _, staging, final = log[index]
        assert log[index - 1] == ("sync", staging)
        assert log[index + 1] == ("sync", str(Path(final).parent))
    first_run = next(index for index in renames if "/runs/" in log[index][2])
    assert ("sync", str(partial_of(tmp_path / "out") / "runs")) in log[:first_run]


def test_an_engine_that_raises_systemexit_is_an_error(tmp_path: Path) -> None:
    def leave(_run: Mapping[str, Any]) -> None:
        raise SystemExit(0)

    with pytest.raises(TussleError, match=r"run 0 .* failed: SystemExit: 0 \("):
        sweep(SCENARIO, tmp_path / "out", settings(FakeEngine(leave)))


def test_a_half_written_run_is_executed_again(reference: Dataset, tmp_path: Path) -> None:
    folder = tmp_path / "out"
    interrupted_sweep(folder)
    victim = sorted(partial_of(folder).glob("runs/*/*.zip"))[1]
    victim.rename(victim.with_suffix(".part"))
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


FULL_DISK_SCRIPT = """
import resource, sys
sys.path[:0] = {tests!r}
from fake_engine import FakeEngine
from test_sweep import SCENARIO
from tussle.errors import TussleError
from tussle.sweep import SweepSettings, sweep
resource.setrlimit(resource.RLIMIT_FSIZE, ({limit}, {limit}))
try:
    sweep(SCENARIO, {folder!r}, SweepSettings(workers=1, engine=FakeEngine()))
except TussleError as error:
    sys.exit(str(error))
"""


@pytest.mark.parametrize(("limit", "kept"), [(300, 0), (2000, 0), (9000, RUNS)])
def test_a_full_disk_loses_no_finished_runs(
    reference: Dataset, tmp_path: Path, limit: int, kept: int
) -> None:
    folder = tmp_path / "out"
    script = FULL_DISK_SCRIPT.format(tests=IMPORTED, limit=limit, folder=str(folder))
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=False)
    assert result.returncode == 1
    assert result.stderr.startswith("cannot write ")
    assert "make room there" in result.stderr
    assert (
        f"finished runs: {kept}, kept" if kept else "no run was finished"
    ) in result.stderr or limit == 300
    assert not folder.exists()
    assert stored(folder) == kept
    assert not list(tmp_path.rglob("*.part"))
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


class Counting:
    def __init__(self) -> None:
        self.calls: Counter[str] = Counter()
        self.began: tuple[int, int] | None = None

    def wait(self, text: str) -> None:
        self.calls[text] += 1

    def begin(self, total: int, finished: int) -> None:
        self.began = (total, finished)

    def repeat(self, runs: int) -> None:
        self.calls["repeat"] += runs

    def advance(self) -> None:
        self.calls["advance"] += 1

    def spend(self, costs: Sequence[Cost]) -> None:
        assert not costs

    def merge(self) -> None:
        self.calls["merge"] += 1


def test_a_note_does_not_stand_behind_the_bar_of_progress():
    terminal = io.StringIO()
    with ProgressBar(Console(file=terminal, force_terminal=True), terminal.write) as bar:
        bar.begin(2, 0)
        bar.wait("waiting")
        bar.repeat(1)
    for note in ("waiting", "removed"):
        before = re.sub(r"\x1b\[\?25[hl]", "", terminal.getvalue()).partition(note)[0]
        assert before.endswith("\x1b[2K")


def test_progress_counts_runs_finished_earlier_apart(tmp_path: Path) -> None:
    interrupted_sweep(tmp_path / "out")
    progress = Counting()
    sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=1, engine=FakeEngine(), progress=progress))
    assert progress.began == (RUNS, 4)
    assert progress.calls == {"advance": RUNS - 4, "merge": 1}


@pytest.mark.parametrize("name", ["a b", "a[1]*?", "k=v", "ünï'\"", "$(x);", "%41", "{x}"])
def test_folder_names_with_unusual_characters_are_accepted(tmp_path: Path, name: str) -> None:
    assert sweep(SCENARIO, tmp_path / name, INLINE).flows.collect().height == 2 * RUNS


def test_a_relative_folder_is_relative_to_the_working_directory(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    dataset = sweep(SCENARIO, "out", INLINE)
    assert dataset.provenance["command"] == "tussle run out/scenario.toml --engine fake -o out-again"
    assert pl.read_parquet(tmp_path / "out" / "runs.parquet").height == RUNS


def test_the_order_of_execution_does_not_change_the_dataset(reference: Dataset, tmp_path: Path) -> None:
    def order(name: Order) -> list[str]:
        log = tmp_path / f"log-{name}"
        asked = SweepSettings(workers=1, engine=FakeEngine(log=log), order=name)
        dataset = sweep(SCENARIO, tmp_path / name, asked)
        assert dataset.provenance["digest"] == reference.provenance["digest"]
        return log.read_text().splitlines()

    points = order("points")
    seeds = list(dict.fromkeys(line.rpartition(" ")[2] for line in points))
    turns = [[line for line in points if line.endswith(seed)] for seed in seeds]
    # Six points, two repetitions.
    assert [len(turn) for turn in turns] == [6, 6]
    assert order("round-robin") == [line for turn in turns for line in turn]
    shuffled = order("random")
    assert [sorted(shuffled[:6]), sorted(shuffled[6:])] == [sorted(turn) for turn in turns]
    assert shuffled[:6] != turns[0]


def test_an_engine_in_real_time_executes_one_run_at_a_time(tmp_path: Path) -> None:
    with pytest.raises(TussleError, match="workers=3: the engine fake executes 1 run at a time"):
        sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=3, engine=RealTimeEngine()))
    alone = sweep(SCENARIO, tmp_path / "out", SweepSettings(engine=RealTimeEngine()))
    assert alone.runs.collect().height == RUNS
