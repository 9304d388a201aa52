"""Results contain the recordings that their scenario names: they open, and repeat, wherever they are."""

import json
import shutil
from pathlib import Path

import pytest

from commandline import Answer, refused
from fake_engine import FakeEngine, Run
from tussle.dataset import Dataset, verify
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

INLINE = SweepSettings(workers=1)
WRITTEN = """
duration = "2 s"
path.trace = {traces}
path.rtt = "20 ms"
path.elements = [{{ kind = "rtt_series", series = "measured/rtt.csv" }}]
path.reverse.rate = "10 Mbit/s"
flows = [{{ algorithm = "reno" }}]
"""
TRACES = ["lte.trace", "night/lte.trace"]


def a_scenario(folder: Path, traces: str | list[str]) -> Path:
    """A scenario's file in `folder`, with its recordings: 3.6 and 2.4 Mbit/s, and RTTs up to 10 ms apart."""
    for name, content in {
        "lte.trace": "1\n5\n10\n",
        "night/lte.trace": "5\n10\n",
        "measured/rtt.csv": "0,40\n1,50\n2,45\n",
    }.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(content)
    file = folder / "lte.toml"
    file.write_text(WRITTEN.format(traces=json.dumps(traces)))
    return file


@pytest.fixture
def moved(tmp_path: Path, tussle_, monkeypatch: pytest.MonkeyPatch) -> Path:  # noqa: ARG001 (it changes the folder)
    """A dataset that was moved to another folder, and its scenario's recordings removed."""
    file = a_scenario(tmp_path / "there", TRACES)
    monkeypatch.chdir(tmp_path)
    sweep(Scenario.load(file), "there/made", INLINE)
    (tmp_path / "here").mkdir()
    shutil.move("there/made", "here/moved")
    shutil.rmtree("there")
    monkeypatch.chdir(tmp_path / "here")
    return Path("moved")


def test_results_open_where_the_recordings_of_their_scenario_are_not(moved: Path):
    dataset = Dataset.open(moved)
    verify(moved)
    assert sorted(str(file.relative_to(moved)) for file in moved.glob("recordings/**/*.*")) == [
        "recordings/night/lte.trace",
        "recordings/rtt.csv",
        "recordings/there/lte.trace",
    ]
    assert dataset.runs.collect()["path.trace"].to_list() == ["there/lte.trace", "night/lte.trace"]


def done(answer: Answer) -> None:
    assert answer.status == 0, answer.problems


def test_every_command_reads_results_whose_recordings_moved_with_them(moved: Path, tussle_):
    done(tussle_("report", moved))
    assert "there/lte.trace" in (moved / "report.html").read_text()
    done(tussle_("export", moved, "packets", "--run", "0", "-o", "captured.pcapng"))
    done(tussle_("plot", moved, "throughput", "-o", "throughput.svg"))
    done(tussle_("compare", moved, moved))


def test_results_with_recordings_repeat_from_their_own_folder_with_an_equal_digest(moved: Path, tussle_):
    done(tussle_("run", moved / "scenario.toml", "-o", "again"))
    assert Dataset.open("again").provenance["digest"] == Dataset.open(moved).provenance["digest"]
    assert Path("again/scenario.toml").read_text() == (moved / "scenario.toml").read_text()


def test_a_scenario_gives_the_same_bytes_from_every_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    file = a_scenario(tmp_path / "there", TRACES)
    digests = set()
    for folder in (tmp_path, tmp_path / "there", tmp_path / "there/night"):
        monkeypatch.chdir(folder)
        named = Path(*([".."] * len(folder.relative_to(tmp_path).parts)), "there", file.name)
        dataset = sweep(Scenario.load(named), folder / "made", INLINE)
        digests.add((dataset.provenance["digest"], dataset.provenance["scenario_sha256"]))
    assert len(digests) == 1


def test_a_lost_copy_of_a_recording_is_named(moved: Path, tussle_):
    (moved / "recordings/rtt.csv").unlink()
    assert "moved is not a complete dataset: recordings/rtt.csv is missing" in refused(
        tussle_("report", moved)
    )


def test_a_changed_copy_of_a_recording_is_found(moved: Path, tussle_):
    (moved / "recordings/rtt.csv").write_text("0,40\n1,60\n")
    assert "recordings/rtt.csv was changed" in refused(tussle_("report", moved))


def test_results_cannot_name_files_outside_of_them(moved: Path):
    provenance = json.loads((moved / "provenance.json").read_text())
    provenance["files_sha256"]["recordings/../../secret"] = "0" * 64
    (moved / "provenance.json").write_text(json.dumps(provenance))
    with pytest.raises(TussleError, match="is not a file of the dataset"):
        Dataset.open(moved)


def test_a_recording_that_changes_during_the_sweep_is_refused(tmp_path: Path):
    file = a_scenario(tmp_path, "lte.trace")

    def overwrite(_run: Run) -> None:
        (tmp_path / "lte.trace").write_text("1\n2\n")

    with pytest.raises(TussleError, match=r"lte\.trace changed during the sweep"):
        sweep(Scenario.load(file), tmp_path / "made", SweepSettings(workers=1, engine=FakeEngine(overwrite)))


def test_runs_of_an_earlier_recording_are_not_mixed_with_those_of_another(tmp_path: Path):
    file = a_scenario(tmp_path, TRACES)

    def fail_at_night(run: Run) -> None:
        if len(run["elements"][0]["opportunities_ms"]) == len(["5", "10"]):
            raise TussleError("too dark")

    with pytest.raises(TussleError, match="finished runs: 1"):
        sweep(
            Scenario.load(file), tmp_path / "made", SweepSettings(workers=1, engine=FakeEngine(fail_at_night))
        )
    (tmp_path / "lte.trace").write_text("1\n2\n10\n")
    with pytest.raises(TussleError, match=r"another sweep \(recordings differs\)"):
        sweep(Scenario.load(file), tmp_path / "made", SweepSettings(workers=1, engine=FakeEngine()))


def test_cases_name_recordings_beside_the_scenario(tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    a_scenario(tmp_path / "there", "lte.trace")
    file = tmp_path / "there/cases.toml"
    file.write_text(
        'duration = "2 s"\npath = {}\nflows = [{ algorithm = "reno" }]\n'
        '[[cases]]\n"path.trace" = "lte.trace"\n"path.rtt" = "20 ms"\n'
        '[[cases]]\n"path.trace" = "night/lte.trace"\n"path.rtt" = "40 ms"\n'
    )
    monkeypatch.chdir(tmp_path)
    sweep(Scenario.load("there/cases.toml"), tmp_path / "made", INLINE)
    shutil.rmtree("there")
    runs = Dataset.open("made").runs.select("path.trace", "path.rtt").collect()
    assert runs.rows() == [("there/lte.trace", "20 ms"), ("night/lte.trace", "40 ms")]


def test_remote_results_contain_their_recordings(tmp_path: Path):
    file = a_scenario(tmp_path / "there", TRACES)
    sweep(Scenario.load(file), "memory://recorded/made", INLINE)
    shutil.rmtree(tmp_path / "there")
    dataset = Dataset.open("memory://recorded/made")
    assert [run.axes["path.trace"] for run in dataset.scenario.runs()] == [
        "there/lte.trace",
        "night/lte.trace",
    ]
