"""Worker processes end with the block that started them."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from concurrent.futures import BrokenExecutor
from multiprocessing.connection import Connection
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, NoReturn

import pytest

from tussle.engines import engine
from tussle.workers.pool import processes
from tussle.workers.task import Task, execute


class SlowToRead:
    """A result whose reader is busy for a second, so that it does not read the next one."""

    def __reduce__(self) -> tuple[Callable[[float], None], tuple[float]]:
        return time.sleep, (1.0,)


LARGER_THAN_A_PIPE_BYTES = 1_000_000


def larger_than_a_pipe(computed: Path) -> bytes:
    computed.touch()
    return bytes(LARGER_THAN_A_PIPE_BYTES)


def for_an_hour(begun: Path) -> None:
    begun.touch()
    time.sleep(3600)


def interrupt(when: Path, after_s: float) -> NoReturn:
    """Raise KeyboardInterrupt some time after a file appears."""
    while not when.exists():
        time.sleep(0.001)
    time.sleep(after_s)
    raise KeyboardInterrupt


def leave(tasks: list[tuple[Any, ...]], when: Path, after_s: float = 0.0) -> None:
    with processes(1) as pool:
        for fn, *arguments in tasks:
            pool.submit(fn, *arguments)
        interrupt(when, after_s)


def test_leaving_the_block_while_a_worker_sends_a_result_ends_it(tmp_path: Path):
    """The reader would wait forever for the rest of a result that its sender did not finish."""
    computed = tmp_path / "computed"
    with pytest.raises(KeyboardInterrupt):
        leave([(SlowToRead,), (larger_than_a_pipe, computed)], computed, 0.2)


def test_leaving_the_block_ends_a_task(tmp_path: Path):
    begun = tmp_path / "begun"
    with pytest.raises(KeyboardInterrupt):
        leave([(for_an_hour, begun)], begun)


def in_a_temporary_folder(begun: Path) -> None:
    with TemporaryDirectory(dir=begun.parent):
        for_an_hour(begun)


def test_a_task_that_is_ended_removes_its_temporary_files(tmp_path: Path):
    begun = tmp_path / "begun"
    with pytest.raises(KeyboardInterrupt):
        leave([(in_a_temporary_folder, begun)], begun)
    assert list(tmp_path.iterdir()) == [begun]


class TerminatedInItsFinalizer:
    """Python prints an exception that leaves a finalizer, and goes on."""

    def __del__(self) -> None:
        signal.raise_signal(signal.SIGTERM)
        time.sleep(0)  # the handler runs before this line ends


def whose_finalizer_swallows_the_signal(begun: Path) -> NoReturn:
    with TemporaryDirectory(dir=begun.parent):
        TerminatedInItsFinalizer()
        for_an_hour(begun)
    raise AssertionError("an hour is longer than this test")


def test_a_task_in_which_the_signal_is_swallowed_ends_all_the_same(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
):
    begun = tmp_path / "begun"
    with processes(1) as pool:
        ended = pool.submit(whose_finalizer_swallows_the_signal, begun)
        with pytest.raises(BrokenExecutor, match=r"a worker process was killed by SIGTERM$"):
            ended.result(timeout=60)
    assert [each for each in tmp_path.iterdir() if each != begun] == []
    assert "Traceback" not in capfd.readouterr().err


def test_a_task_whose_starter_is_killed_removes_its_temporary_files(tmp_path: Path):
    begun, never = tmp_path / "begun", tmp_path / "never"
    code = (
        "import sys, test_pool; from pathlib import Path; begun, never = map(Path, sys.argv[1:]); "
        "test_pool.leave([(test_pool.in_a_temporary_folder, begun)], never)"
    )
    path = os.pathsep.join([str(Path(__file__).parent), *sys.path])
    command = [sys.executable, "-c", code, str(begun), str(never)]
    with subprocess.Popen(command, env=os.environ | {"PYTHONPATH": path}) as starter:
        while not begun.exists():
            assert starter.poll() is None
            time.sleep(0.01)
        starter.kill()
    give_up = time.monotonic() + 30
    while list(tmp_path.iterdir()) != [begun]:
        assert time.monotonic() < give_up, "the folder stays behind"
        time.sleep(0.01)


def without_an_end(begun: Path) -> NoReturn:
    signal.signal(signal.SIGTERM, signal.SIG_IGN)
    for_an_hour(begun)
    raise AssertionError("an hour is longer than this test")


def test_a_task_that_does_not_end_by_itself_is_killed(tmp_path: Path):
    begun = tmp_path / "begun"
    with pytest.raises(KeyboardInterrupt):
        leave([(without_an_end, begun)], begun)


def test_a_terminated_worker_is_lost_with_its_signal():
    with processes(1) as pool:
        lost = pool.submit(signal.raise_signal, signal.SIGTERM)
        with pytest.raises(BrokenExecutor, match=r"a worker process was killed by SIGTERM$"):
            lost.result(timeout=60)


def is_killed_while_it_sends() -> bytes:
    """Return a result of which this worker sends a half."""

    def send_half(connection: Connection, buffer: bytes) -> None:
        os.write(connection.fileno(), bytes(buffer)[: len(buffer) // 2])
        os.kill(os.getpid(), signal.SIGKILL)

    setattr(Connection, "_send", send_half)  # noqa: B010 (the method is private)
    return bytes(1000)


def test_a_worker_that_is_killed_while_it_sends_a_result_leaves_nobody_waiting():
    with processes(1) as pool:
        lost, queued = pool.submit(is_killed_while_it_sends), pool.submit(abs, -1)
        for future in (lost, queued):
            with pytest.raises(BrokenExecutor, match="killed by SIGKILL, perhaps for lack of memory"):
                future.result(timeout=60)
        assert pool.submit(abs, -2).result(timeout=60) == 2


def test_other_workers_go_on_when_one_is_killed():
    with processes(2) as pool:
        lost = pool.submit(os.abort)
        assert [pool.submit(abs, -number).result(timeout=60) for number in range(8)] == list(range(8))
        with pytest.raises(BrokenExecutor, match=r"a worker process was killed by SIGABRT$"):
            lost.result(timeout=60)


@pytest.mark.parametrize(
    ("end", "status"), [((os._exit, 0), 0), ((os.execv, "/bin/false", ["false"]), 1)], ids=["exit", "exec"]
)
def test_a_worker_that_ends_by_itself_is_lost_with_its_status(end: tuple[Any, ...], status: int):
    with processes(1) as pool:
        lost = pool.submit(*end)
        with pytest.raises(BrokenExecutor, match=rf"ended unexpectedly, with status {status}$"):
            lost.result(timeout=60)


def fails() -> NoReturn:
    raise ValueError("no such algorithm")


def test_an_exception_of_a_task_has_the_trace_of_the_worker():
    with processes(1) as pool:
        with pytest.raises(ValueError, match="no such algorithm") as failure:
            pool.submit(fails).result(timeout=60)
        assert "in fails" in "".join(failure.value.__notes__)
        with pytest.raises(AttributeError, match="local object"):
            pool.submit(lambda: None).result(timeout=60)
        assert pool.submit(abs, -1).result(timeout=60) == 1


def imported() -> set[str]:
    return set(sys.modules)


def test_a_worker_that_has_executed_a_run_has_imported_nothing_that_plans_or_shows_it():
    from tussle.scenario import Scenario  # the worker imports this file

    flow = {"algorithm": "reno"}
    path = {"rate": "1 Mbit/s", "rtt": "10 ms", "queue": {"limit": "10 packets"}}
    [run] = Scenario.from_dict({"duration": "1 s", "path": path, "flows": [flow]}).runs()
    with processes(1) as workers:
        assert workers.submit(execute, Task(0, engine("sim"), [run.run])).result().finished == 1
        modules = workers.submit(imported).result()
    assert "tussle.engines.sim" in modules
    others = {"tussle.scenario", "tussle.metrics", "tussle.figures", "tussle.sweep", "pydantic", "altair"}
    assert modules & others == set()
