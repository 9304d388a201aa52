"""A sweep after a power failure: files with their final name are complete."""

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path

import pytest

from test_sweep import IMPORTED, INLINE, RUNS, SCENARIO, Repeats, same_files, stored
from tussle.errors import TussleError
from tussle.sweep import sweep

pytestmark = pytest.mark.skipif(sys.platform != "linux", reason="the names of open files are in /proc")

IMAGE_BYTES = 32 << 20
SWEEP = """
import sys
sys.path[:0] = {tests!r}
from fake_engine import FakeEngine, takes_a_moment
from test_sweep import SCENARIO, settings
from tussle.sweep import sweep
sweep(SCENARIO, {folder!r}, settings(FakeEngine(takes_a_moment)))
"""


class SystemCallLog:
    """Log of syncs and renames in order; a rename records the files below it that were not synced."""

    def __init__(self, monkeypatch: pytest.MonkeyPatch) -> None:
        self.entries: list[tuple[str, Path]] = []
        self.unsynced: list[Path] = []
        fsync, replaced, renamed = os.fsync, Path.replace, Path.rename

        def noted_fsync(descriptor: int) -> None:
            fsync(descriptor)
            self.entries.append(("sync", Path(f"/proc/self/fd/{descriptor}").readlink()))

        def noted_rename(path: Path, target: Path) -> Path:
            self.unsynced += [each for each in (path, *path.rglob("*")) if not self.has_synced(each)]
            self.entries.append(("rename", target))
            return (replaced if path.is_file() else renamed)(path, target)

        monkeypatch.setattr(os, "fsync", noted_fsync)
        monkeypatch.setattr(Path, "replace", noted_rename)
        monkeypatch.setattr(Path, "rename", noted_rename)

    def has_synced(self, path: Path, since: int = 0) -> bool:
        """Tell whether the path was synced as it is now."""
        return ("sync", path) in self.entries[since:]


def test_a_dataset_is_synced_before_it_is_renamed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    log = SystemCallLog(monkeypatch)
    folder = tmp_path / "results" / "here" / "out"
    sweep(SCENARIO, folder, INLINE)
    renames = [index for index, (operation, _) in enumerate(log.entries) if operation == "rename"]
    # The identity of the sweep, each run, and the dataset.
    assert len(renames) == 1 + RUNS + 1
    assert log.entries[renames[-1]] == ("rename", folder)
    assert log.unsynced == []
    for index in renames:
        assert log.entries[index + 1] == ("sync", log.entries[index][1].parent)
    # A stored run, and each folder that was made for it, has a name on the disk.
    _, first_run = log.entries[renames[1]]
    around = [each for each in first_run.parents if tmp_path in (each, *each.parents)]
    assert len(around) == 6  # runs/0000 in out.partial in results/here
    assert [each for each in around if ("sync", each) not in log.entries[: renames[1] + 2]] == []


def test_a_results_folder_that_cannot_be_created_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with pytest.raises(TussleError, match=r"cannot write .*out\.partial"):
        sweep(SCENARIO, tmp_path / "file" / "out", INLINE)


@contextmanager
def mounted(image: Path, at: Path) -> Iterator[Path]:
    """Mount the file system in a file; skip the test where that is not permitted."""
    at.mkdir()
    # The kernel is not to write on its own what nobody asked it to.
    words = ["mount", "-o", "loop,commit=300", str(image), str(at)]
    done = subprocess.run(words, capture_output=True, text=True, check=False)
    if done.returncode:
        pytest.skip(f"a file system in a file cannot be mounted here: {done.stderr.strip()}")
    try:
        yield at
    finally:
        subprocess.run(["umount", str(at)], check=True)  # noqa: S607 (as found on this host)


def formatted(image: Path) -> Path:
    if os.geteuid() or not (shutil.which("mkfs.ext4") and shutil.which("mount")):
        pytest.skip("to mount a file system takes root, mkfs.ext4 and mount")
    image.touch()
    os.truncate(image, IMAGE_BYTES)
    subprocess.run(["mkfs.ext4", "-q", "-F", str(image)], check=True)  # noqa: S607 (likewise)
    return image


@pytest.mark.parametrize("runs", [1, 5, RUNS - 1])
def test_a_sweep_resumes_from_its_stored_runs_after_a_power_cut(tmp_path: Path, runs: int) -> None:
    reference = sweep(SCENARIO, tmp_path / "reference", INLINE)
    image, cut = formatted(tmp_path / "disk.img"), tmp_path / "cut.img"
    with mounted(image, tmp_path / "disk") as disk:
        folder = disk / "results" / "out"
        script = SWEEP.format(tests=IMPORTED, folder=str(folder))
        with subprocess.Popen([sys.executable, "-c", script]) as process:
            deadline = time.monotonic() + 60
            while stored(folder) < runs and time.monotonic() < deadline:
                time.sleep(0.01)
            process.send_signal(signal.SIGSTOP)
            stored_before = stored(folder)
            # Without a sync: what only the memory has is lost.
            shutil.copyfile(image, cut)
            process.kill()
    assert stored_before >= runs
    with mounted(cut, tmp_path / "after") as after:
        folder = after / "results" / "out"
        kept = stored(folder)
        assert kept >= stored_before - 1  # the last one may have had its name and not yet been synced
        repeats = Repeats()
        again = sweep(SCENARIO, folder, replace(INLINE, progress=repeats))
        assert repeats.runs == 0  # none of those kept was damaged
        assert same_files(reference.folder, again.folder)
        assert again.provenance["digest"] == reference.provenance["digest"]
