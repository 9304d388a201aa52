"""The end of commands that are killed, interrupted, or lose their output."""

import errno
import os
import shutil
import subprocess
import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path

import pytest

from commandline import Answer, refused

TUSSLE = Path(sys.executable).with_name("tussle")
SCENARIO = """
duration = "1 s"
path = { rate = "10 Mbit/s", rtt = "20 ms" }
flows = [{ algorithm = "reno" }]
"""


@pytest.fixture
def finished(tmp_path: Path, tussle_: Callable[..., Answer]) -> Path:
    (tmp_path / "one.toml").write_text(SCENARIO)
    assert tussle_("run", "one.toml", "-o", "out").status == 0
    return tmp_path / "out"


def test_a_command_that_was_killed_before_its_report_writes_the_report(
    finished: Path, tussle_: Callable[..., Answer]
) -> None:
    (finished / "report.html").unlink()
    answer = tussle_("run", "one.toml", "-o", "out")
    assert answer.status == 0, answer.problems
    assert "holds all runs of this command already" in answer.problems
    assert (finished / "report.html").exists()


def test_a_command_that_was_killed_as_its_sweep_ended_removes_the_store_of_its_runs(
    tmp_path: Path, tussle_: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    monkeypatch.setattr("tussle.sweep.partial.Partial.remove", lambda _self: None)
    assert tussle_("run", "one.toml", "-o", "out").status == 0
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    (tmp_path / "out" / "report.html").unlink()
    # Killed while the store was removed.
    (tmp_path / "out.partial" / "sweep.json").unlink()
    assert list(tmp_path.glob("out.partial/runs/*/*"))
    assert tussle_("run", "one.toml", "-o", "out").status == 0
    assert not (tmp_path / "out.partial").exists()


def test_a_command_that_repeats_damaged_runs_says_so_without_a_terminal(
    tmp_path: Path, tussle_: Callable[..., Answer], monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "two.toml").write_text(SCENARIO.replace('"10 Mbit/s"', '["5 Mbit/s", "10 Mbit/s"]'))
    monkeypatch.setattr("tussle.sweep.partial.Partial.remove", lambda _self: None)
    assert tussle_("run", "two.toml", "-o", "out").status == 0
    monkeypatch.undo()
    monkeypatch.chdir(tmp_path)
    shutil.rmtree(tmp_path / "out")
    for piece in tmp_path.glob("out.partial/runs/*/*"):
        piece.write_bytes(b"")
    answer = tussle_("run", "two.toml", "-o", "out")
    assert answer.status == 0, answer.problems
    assert "removed the damaged files of 2 finished runs, to repeat them" in answer.problems


def test_a_folder_that_is_no_store_of_runs_is_kept(finished: Path, tussle_: Callable[..., Answer]) -> None:
    (finished / "report.html").unlink()
    notes = finished.with_name("out.partial") / "notes.txt"
    notes.parent.mkdir()
    notes.touch()
    assert tussle_("run", "one.toml", "-o", "out").status == 0
    assert notes.exists()


def test_another_command_does_not_take_a_dataset_without_a_report_for_its_own(
    finished: Path, tussle_: Callable[..., Answer]
) -> None:
    (finished / "report.html").unlink()
    assert "out exists already" in refused(tussle_("run", "one.toml", "-o", "out", "--seed", 9))
    assert not (finished / "report.html").exists()


def test_a_closed_standard_output_causes_no_traceback() -> None:
    command = ["bash", "-c", '"$0" list metrics >&-', str(TUSSLE)]
    ended = subprocess.run(command, capture_output=True, text=True, check=False)
    assert (ended.returncode, ended.stderr) == (0, "")


@pytest.mark.parametrize("command", ["--version", "scenario check one.toml"])
def test_a_full_standard_output_is_named(command: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    ended = subprocess.run(
        ["bash", "-c", f'"$0" {command} > /dev/full', str(TUSSLE)],  # noqa: S607
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert ended.returncode == 2
    assert ended.stderr == (
        "tussle: cannot write the standard output: No space left on device; redirect it to another place\n"
    )


def test_a_full_temporary_folder_is_not_taken_for_the_standard_output(
    monkeypatch: pytest.MonkeyPatch, tussle_: Callable[..., Answer]
) -> None:
    def fail() -> None:
        raise OSError(errno.ENOSPC, os.strerror(errno.ENOSPC))

    monkeypatch.setattr("tussle.doctor.findings", fail)
    message = refused(tussle_("doctor"))
    assert message.startswith(f"a file, perhaps a temporary one in {tempfile.gettempdir()}: No space left")


@pytest.mark.parametrize("closed", ["2>&-", ">&- 2>&-", "2>/dev/full"])
def test_a_closed_or_full_standard_error_loses_no_run_and_no_exit_status(closed: str, tmp_path: Path) -> None:
    (tmp_path / "one.toml").write_text(SCENARIO)
    for name, status in (("one.toml", 0), ("gone.toml", 2)):
        command = ["bash", "-c", f'"$0" run {name} -o out {closed}', str(TUSSLE)]
        ended = subprocess.run(command, cwd=tmp_path, capture_output=True, text=True, check=False)
        assert (ended.returncode, ended.stderr) == (status, "")
    assert (tmp_path / "out" / "report.html").exists()


def test_a_terminated_sweep_cleans_up_its_workers(tmp_path: Path) -> None:
    """Workers and their semaphores are released, so that Python prints no warning about leaked ones."""
    (tmp_path / "many.toml").write_text(SCENARIO)
    command = [TUSSLE, "run", "many.toml", "--set", 'duration="100 s"', "--set", 'start_jitter="1 s"']
    command += ["--repetitions", "400", "--workers", "2", "-o", "out"]
    with subprocess.Popen(
        command, cwd=tmp_path, text=True, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE
    ) as sweep:
        while sweep.poll() is None and not list(tmp_path.glob("out.partial/runs/*")):
            time.sleep(0.05)
        sweep.terminate()
        _, problems = sweep.communicate(timeout=60)
    assert sweep.returncode == 130
    assert problems.startswith("tussle: interrupted")
    assert "resource_tracker" not in problems
    assert "Traceback" not in problems
