"""Sweeps on a Dask cluster: the results of one machine, even when workers are lost."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from distributed import Client, LocalCluster

from commandline import refused
from fake_engine import (
    FakeEngine,
    KillsItsWorker,
    KillsItsWorkerOnce,
    RealTimeEngine,
    executed,
    fails_on_20_mbit_per_s,
    is_killed_on_20_mbit_per_s,
    takes_a_moment,
)
from test_sweep import INLINE, RUNS, SCENARIO, partial_of, same_files, stored, wait_until_stored
from tussle.dataset import Dataset
from tussle.engines.kernel import KernelEngine
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, cluster, sweep
from tussle.sweep.progress import Silent

QUICK = {
    "duration": "1 s",
    "repetitions": 30,
    "start_jitter": "10 ms",
    "path": {"rate": "1 Mbit/s", "rtt": "20 ms"},
    "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}],
}


@pytest.fixture(scope="module")
def local() -> Iterator[Any]:
    with LocalCluster(n_workers=2, threads_per_worker=1, dashboard_address=":0") as started:
        yield started


@pytest.fixture
def address(local: LocalCluster) -> str:
    return local.scheduler_address


@pytest.fixture(scope="module")
def reference(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return sweep(SCENARIO, tmp_path_factory.mktemp("reference") / "out", INLINE)


def on(address: str, engine: FakeEngine | None = None) -> SweepSettings:
    return SweepSettings(cluster=address, engine=engine or FakeEngine())


class Waits(Silent):
    """A receiver that keeps what a sweep says it waits for."""

    def __init__(self) -> None:
        self.texts: list[str] = []

    def wait(self, text: str) -> None:
        self.texts.append(text)


def refusal(settings: SweepSettings, folder: Path) -> str:
    with pytest.raises(TussleError) as refused:
        sweep(SCENARIO, folder, settings)
    return str(refused.value)


def test_a_cluster_writes_the_same_bytes_as_processes_of_one_machine(address: str, tmp_path: Path) -> None:
    scenario = Scenario.from_dict(QUICK)
    here = sweep(scenario, tmp_path / "here", SweepSettings(workers=2))
    there = sweep(scenario, tmp_path / "there", SweepSettings(cluster=address))
    assert there.runs.collect().height == 60
    assert same_files(here.folder, there.folder)
    assert here.provenance["digest"] == there.provenance["digest"]


def test_a_sweep_waits_for_workers_and_leaves_no_run_out(
    reference: Dataset, address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster.Cluster, "threads", lambda _: 0)
    assert same_files(reference.folder, sweep(SCENARIO, tmp_path / "out", on(address)).folder)


def test_a_failed_run_is_reported_alike_on_a_cluster_and_on_one_machine(address: str, tmp_path: Path) -> None:
    sentence = refusal(on(address, FakeEngine(fails_on_20_mbit_per_s)), tmp_path / "out")
    assert "path.rate = 20 Mbit/s" in sentence
    assert "20 Mbit/s is too much for this engine" in sentence


@contextmanager
def started(folder: Path, *workers: list[str]) -> Iterator[tuple[str, subprocess.Popen[bytes]]]:
    """Start a scheduler and workers, each a Python command before `-m dask`; yield the scheduler's file."""
    file = folder / "scheduler.json"
    scheduler = ["scheduler", "--no-dashboard", "--host", "127.0.0.1", "--port", "0"]
    commands = [["-m", "dask", *scheduler], *workers]
    processes: list[subprocess.Popen[bytes]] = []
    with (folder / "log").open("wb") as log:
        try:
            for command in commands:
                whole = [sys.executable, *command, "--scheduler-file", str(file)]
                path = os.pathsep.join(sys.path)
                processes.append(
                    subprocess.Popen(whole, stdout=log, stderr=log, env=os.environ | {"PYTHONPATH": path})
                )
                give_up = time.monotonic() + 60
                while not file.exists():
                    assert time.monotonic() < give_up, (folder / "log").read_text()
                    time.sleep(0.05)
            yield str(file), processes[0]
        finally:
            for process in processes:
                process.kill()
                process.wait()


WORKER = ["-m", "dask", "worker", "--no-nanny", "--nthreads", "1", "--no-dashboard"]


def test_a_killed_worker_costs_only_its_task_and_results_stay_equal(
    reference: Dataset, tmp_path: Path
) -> None:
    log = tmp_path / "executed"
    engine = FakeEngine(KillsItsWorkerOnce(tmp_path / "killed"), log)
    with started(tmp_path, WORKER, WORKER) as (file, _):
        wait_for(2, file)
        dataset = sweep(SCENARIO, tmp_path / "out", on(file, engine))
    assert (tmp_path / "killed").exists()
    assert same_files(reference.folder, dataset.folder)
    # Which other runs a worker had done in that task depends on how fast it is.
    executions = Counter(log.read_text().splitlines())
    assert len(executions) == RUNS
    assert max(executions.values()) <= 2


def test_only_the_run_that_kills_every_worker_is_reported(
    reference: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("DASK_DISTRIBUTED__SCHEDULER__ALLOWED_FAILURES", "0")
    folder, planned = tmp_path / "out", SCENARIO.runs()[7]
    # The first one it kills has another task, which is not to blame.
    with started(tmp_path, WORKER, WORKER, WORKER) as (file, _):
        wait_for(3, file)
        sentence = refusal(on(file, FakeEngine(KillsItsWorker(executed(planned.run)))), folder)
    assert sentence.startswith("run 7 (point 3, path.rate = 20 Mbit/s, flows.0.algorithm = cubic, seed ")
    assert "1 workers ended while they executed it, perhaps for lack of memory" in sentence
    assert f"finished runs: {stored(folder)}, kept in" in sentence
    assert stored(folder) >= RUNS // 2
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


def test_a_cluster_that_loses_its_workers_ends_the_sweep(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_WITHOUT_WORKERS_S", 2)
    with started(tmp_path, WORKER) as (file, _):
        wait_for(1, file)
        settings = replace(on(file, FakeEngine(is_killed_on_20_mbit_per_s)), progress=(waits := Waits()))
        sentence = refusal(settings, tmp_path / "out")
    assert sentence.startswith(f'cluster="{file}": all workers were lost, and none came for 2 s; ')
    assert waits.texts == ["all workers were lost; waiting for others, for 2 s at most"]


def wait_for(workers: int, file: str) -> None:
    with Client(scheduler_file=file) as client:
        client.wait_for_workers(workers, timeout=60)


def test_a_sweep_that_loses_its_scheduler_ends_and_can_be_resumed(reference: Dataset, tmp_path: Path) -> None:
    folder, code = (
        tmp_path / "out",
        "import sys; from test_cluster import sweep_until_lost; sweep_until_lost()",
    )
    with started(tmp_path, WORKER) as (file, scheduler):
        command = [sys.executable, "-c", code, file, str(folder)]
        path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
        environment = os.environ | {"PYTHONPATH": path}
        with subprocess.Popen(command, stderr=subprocess.PIPE, text=True, env=environment) as process:
            wait_until_stored(folder, 3)
            scheduler.kill()
            problems = process.communicate(timeout=60)[1]
    assert problems.startswith(f'cluster="{file}": the connection to the scheduler was lost; finished runs: ')
    assert len(problems.splitlines()) == 1
    assert 3 <= stored(folder) < RUNS
    assert same_files(reference.folder, sweep(SCENARIO, folder, INLINE).folder)


def sweep_until_lost() -> None:
    file, folder = sys.argv[1:]
    try:
        sweep(SCENARIO, folder, on(file, FakeEngine(takes_a_moment)))
    except TussleError as error:
        sys.exit(str(error))


LONG = """
duration = "600 s"
repetitions = 40
start_jitter = "10 ms"
[path]
rate = "50 Mbit/s"
rtt = "20 ms"
[[flows]]
algorithm = "reno"
"""


def test_ctrl_c_cancels_the_pending_tasks_of_a_cluster(
    local: LocalCluster, address: str, tmp_path: Path
) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    command = [
        Path(sys.executable).with_name("tussle"),
        "run",
        "long.toml",
        "--cluster",
        address,
        "-o",
        "out",
    ]
    with (
        Client(local) as client,
        subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process,
    ):
        wait_until_stored(tmp_path / "out", 1)
        assert client.run_on_scheduler(tasks)
        process.send_signal(signal.SIGINT)
        problems = process.communicate(timeout=60)[1]
        assert process.returncode == 130
        assert problems.startswith("tussle: interrupted; finished runs: ")
        assert len(problems.splitlines()) == 1
        give_up = time.monotonic() + 60
        while client.run_on_scheduler(tasks):
            assert time.monotonic() < give_up, "tasks stay behind"
            time.sleep(0.05)
    assert stored(tmp_path / "out") < 40


@pytest.mark.parametrize("there", ["none.json", "tcp://127.0.0.1:{port}"])
def test_ctrl_c_ends_the_wait_for_a_scheduler(there: str, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        address = there.format(port=deaf.getsockname()[1])
        command = [Path(sys.executable).with_name("tussle"), "run", "long.toml", "--cluster", address]
        with subprocess.Popen(command, cwd=tmp_path, stderr=subprocess.PIPE, text=True) as process:
            assert process.stderr is not None
            assert process.stderr.readline().endswith("; waiting for 60 s at most\n")
            process.send_signal(signal.SIGINT)
            problems = process.communicate(timeout=30)[1]
    assert process.returncode == 130
    assert problems == "tussle: interrupted before anything was finished; repeat the same command\n"


def tasks(dask_scheduler: Any) -> int:
    return len(dask_scheduler.tasks)


def test_the_command_gives_the_same_digest_with_a_cluster(tussle_: Any, address: str, tmp_path: Path) -> None:
    pairs = ["matrix", "--algorithms", "reno,cubic", "--duration", "12 s", "--set", 'path.rate="5 Mbit/s"']
    for folder, means in {"here": ["--workers", 2], "there": ["--cluster", address]}.items():
        assert tussle_(*pairs, *means, "-o", folder).status == 0
    digests = [Dataset.open(tmp_path / name).provenance["digest"] for name in ("here", "there")]
    assert digests[0] == digests[1]
    assert tussle_("compare", "here", "there").status == 0


def test_options_that_conflict_with_a_cluster_are_refused(tussle_: Any, tmp_path: Path) -> None:
    (tmp_path / "long.toml").write_text(LONG)
    both = tussle_("run", "long.toml", "--cluster", "tcp://127.0.0.1:1", "--workers", 2)
    assert refused(both).startswith("--workers: the cluster's workers decide the number of parallel runs")
    sentence = refusal(on("tcp://127.0.0.1:1", RealTimeEngine()), tmp_path / "out")
    assert sentence.startswith("cluster: the engine fake executes runs in real time")


@pytest.mark.parametrize(
    ("there", "reason"),
    [
        ("tcp://127.0.0.1:1", "Timed out trying to connect"),
        ("127.0.0.1", "missing port number"),
        ("carrier-pigeon://loft:1", "unknown address scheme"),
        ("none.json", "No such file"),
        ("wrong.json", "Expecting value"),
        ("other.json", "this file was not written by a scheduler"),
    ],
)
def test_an_unreachable_scheduler_is_refused_before_the_first_run(
    there: str, reason: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "_TIMEOUT_S", 1)
    (tmp_path / "wrong.json").write_text("no JSON")
    (tmp_path / "other.json").write_text('{"name": "package"}')
    sentence = refusal(on(there), tmp_path / "out")
    assert sentence.startswith(f'cluster="{there}": no scheduler answers (')
    assert reason in sentence
    assert not partial_of(tmp_path / "out").exists()


@pytest.mark.parametrize("there", ["none.json", "wrong.json"])
def test_a_sweep_says_that_it_waits_for_the_file_of_a_scheduler(
    there: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(cluster, "_TIMEOUT_S", 2)
    monkeypatch.setattr(cluster, "_AT_ONCE_S", 0.2)
    (tmp_path / "wrong.json").write_text("no JSON")
    waits = Waits()
    assert "no scheduler answers" in refusal(replace(on(there), progress=waits), tmp_path / "out")
    assert waits.texts == [f"{there} has no address of a scheduler yet; waiting for 2 s at most"]


def test_a_port_where_something_else_listens_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cluster, "_TIMEOUT_S", 2)
    monkeypatch.setattr(cluster, "_AT_ONCE_S", 0.2)
    waits = Waits()
    with socket.create_server(("127.0.0.1", 0)) as deaf:
        there = f"tcp://127.0.0.1:{deaf.getsockname()[1]}"
        sentence = refusal(replace(on(there), progress=waits), tmp_path / "out")
    assert "no scheduler answers (something else accepts connections there)" in sentence
    assert waits.texts == [f"{there} does not answer yet; waiting for 2 s at most"]


def test_a_cluster_without_workers_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cluster, "_TIMEOUT_S", 1)
    waits = Waits()
    with started(tmp_path) as (file, _):
        sentence = refusal(replace(on(file), progress=waits), tmp_path / "out")
    assert waits.texts[-1].endswith(" has no workers yet; waiting for 1 s at most")
    assert (
        "has no workers, and none came within 1 s; start some, on any machine: dask worker tcp://" in sentence
    )


OTHER = "import sys, {what}; from dask.__main__ import main; sys.argv = ['dask', *sys.argv[1:]]; main()"


@pytest.mark.parametrize(
    ("what", "differs"),
    [
        ("tussle; tussle.__version__ = '0.0.9'", "has another Tussle: 0.0.9, and this machine has "),
        ("platform; platform.python_version_tuple = lambda: '39'", "has another Python: 3.9, and this"),
        (
            "fake_engine; fake_engine.EXTRA_FACTS['version'] = '2'",
            "has another engine (version): 2, and this machine has 1;",
        ),
        ("types; sys.modules['tussle'] = None", "cannot execute these runs ("),
    ],
)
def test_a_worker_whose_results_would_differ_is_refused_before_the_first_run(
    what: str, differs: str, tmp_path: Path
) -> None:
    log = tmp_path / "executed"
    other = ["-c", OTHER.format(what=what), *WORKER[2:]]
    with started(tmp_path, WORKER, other) as (file, _):
        wait_for(2, file)
        sentence = refusal(on(file, FakeEngine(log=log)), tmp_path / "out")
    assert f'cluster="{file}": worker tcp://' in sentence
    assert differs in sentence
    assert not log.exists()


def test_a_late_worker_with_another_version_refuses_its_tasks(address: str) -> None:
    with cluster.connected(address, print) as workers:
        workers.require(cluster.Needs(FakeEngine(), ()))
        workers._expected = {**workers._expected, "Tussle": "0.0.9"}
        error = workers.submit(sum, [1, 2]).exception(timeout=60)
    assert isinstance(error, TussleError)
    assert " has another Tussle: " in str(error)


def test_without_dask_the_command_names_the_missing_package(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "distributed", None)
    sentence = refusal(on("tcp://127.0.0.1:1"), tmp_path / "out")
    assert "pip install distributed, here" in sentence


OWN = """
from tussle.algorithm import Algorithm

class Own(Algorithm):
    pass
"""


def test_own_algorithms_run_on_workers_that_have_their_file(
    address: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "own.py").write_text(OWN)
    monkeypatch.chdir(tmp_path)
    flows = [{"algorithm": f"{tmp_path / 'own.py'}:Own"}]
    dataset = sweep(Scenario.from_dict(QUICK | {"flows": flows}), "out", SweepSettings(cluster=address))
    assert json.loads((tmp_path / "out" / "provenance.json").read_text())["own_algorithms_sha256"]
    assert dataset.flows.collect().height == 30
    # The workers were started elsewhere.
    scenario = Scenario.from_dict(QUICK | {"flows": [{"algorithm": "own.py:Own"}]})
    with pytest.raises(TussleError, match=r"cannot execute these runs .*there is no such file"):
        sweep(scenario, "relative", SweepSettings(cluster=address))


@pytest.mark.usefixtures("kernel")
def test_linux_in_virtual_time_gives_the_same_results_on_a_cluster(address: str, tmp_path: Path) -> None:
    scenario = Scenario.from_dict(QUICK | {"repetitions": 1})
    here = sweep(scenario, tmp_path / "here", SweepSettings(engine=KernelEngine()))
    there = sweep(scenario, tmp_path / "there", SweepSettings(engine=KernelEngine(), cluster=address))
    assert here.provenance["digest"] == there.provenance["digest"]
