"""Datasets in parts, and remote datasets."""

import shutil
import sys
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import polars as pl
import pytest
from fsspec.implementations.memory import MemoryFileSystem

import tussle
from commandline import refused
from fake_engine import FakeEngine
from test_sweep import INLINE, RUNS, SCENARIO, partial_of, same_files
from tussle.dataset import RUNS_A_PART, TABLES, Dataset, parts_of, schema
from tussle.errors import TussleError
from tussle.sweep import SweepSettings, sweep

QUICK = """
duration = "5 s"
[path]
rate = "2 Mbit/s"
rtt = "20 ms"
[[flows]]
algorithm = ["reno", "cubic"]
"""


@pytest.fixture(scope="module")
def whole(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return sweep(SCENARIO, tmp_path_factory.mktemp("whole") / "out", INLINE)


@pytest.fixture
def five_runs_a_part(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "RUNS_A_PART", 5)


@pytest.fixture
def in_parts(five_runs_a_part: None, tmp_path: Path) -> Dataset:  # noqa: ARG001
    return sweep(SCENARIO, tmp_path / "parts", SweepSettings(workers=2, engine=FakeEngine()))


@pytest.fixture
def store() -> Iterator[MemoryFileSystem]:
    """An object store that is empty before and after the test."""
    held = MemoryFileSystem()
    held.store.clear()
    yield held
    held.store.clear()


def test_tables_are_split_beyond_ten_thousand_runs() -> None:
    assert parts_of(1) == [range(1)]
    assert parts_of(RUNS_A_PART) == [range(10_000)]
    assert parts_of(RUNS_A_PART + 1) == [range(10_000), range(10_000, 10_001)]


def test_a_dataset_in_parts_holds_the_same_results(whole: Dataset, in_parts: Dataset) -> None:
    names = [f"part-{part:05}.parquet" for part in range(3)]
    for name in TABLES:
        files = sorted((in_parts.folder / name).iterdir())
        assert [file.name for file in files] == names
        runs = [pl.read_parquet(file)["run"].unique() for file in files]
        assert all(set(found) <= set(part) for found, part in zip(runs, parts_of(RUNS), strict=True))
        assert in_parts.table(name).collect().equals(whole.table(name).collect())
    assert in_parts.provenance["results_sha256"] == whole.provenance["results_sha256"]
    assert in_parts.provenance["digest"] == whole.provenance["digest"]
    assert (whole.provenance["format"], in_parts.provenance["format"]) == (1, 2)
    in_parts.verify()


@pytest.mark.usefixtures("five_runs_a_part")
def test_parts_do_not_depend_on_the_number_of_workers(in_parts: Dataset, tmp_path: Path) -> None:
    again = sweep(SCENARIO, tmp_path / "again", INLINE)
    assert again.provenance["files_sha256"] == in_parts.provenance["files_sha256"]
    assert len(again.provenance["files_sha256"]) == 3 * len(TABLES)


def test_a_part_that_is_missing_or_changed_is_named(in_parts: Dataset) -> None:
    part = in_parts.folder / "samples" / "part-00001.parquet"
    part.write_bytes((in_parts.folder / "samples" / "part-00002.parquet").read_bytes())
    with pytest.raises(TussleError, match=r"samples/part-00001\.parquet was changed"):
        in_parts.verify()
    part.unlink()
    with pytest.raises(TussleError, match=r"not a complete dataset: samples/part-00001\.parquet is missing"):
        Dataset.open(in_parts.folder)
    shutil.rmtree(part.parent)
    with pytest.raises(TussleError, match=r"not a complete dataset: samples/part-00000\.parquet is missing"):
        Dataset.open(in_parts.folder)


@pytest.mark.usefixtures("store")
@pytest.mark.parametrize("runs_a_part", [5, 10_000])
def test_a_sweep_writes_the_same_bytes_to_an_object_store(
    runs_a_part: int, whole: Dataset, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(schema, "RUNS_A_PART", runs_a_part)
    monkeypatch.chdir(tmp_path)
    remote = sweep(SCENARIO, "memory://bucket/sweeps/out", INLINE)
    assert str(remote.folder) == "memory://bucket/sweeps/out"
    assert remote.provenance["digest"] == whole.provenance["digest"]
    assert remote.provenance["command"] == "tussle run out/scenario.toml --engine fake -o out-again"
    assert remote.scenario == SCENARIO
    for name in TABLES:
        assert remote.table(name).collect().equals(whole.table(name).collect())
    assert tussle.open("memory://bucket/sweeps/out").provenance == remote.provenance
    assert list(tmp_path.rglob("*.parquet")) == list(tmp_path.rglob("*.partial")) == []


@pytest.mark.usefixtures("store")
def test_rows_and_columns_of_a_remote_dataset_are_filtered_before_reading(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, whole: Dataset
) -> None:
    monkeypatch.setattr(schema, "RUNS_A_PART", 5)
    monkeypatch.chdir(tmp_path)
    remote = sweep(SCENARIO, "memory://bucket/out", INLINE)
    asked = pl.col("run") == 7
    chosen = remote.samples.filter(asked).select("time_s", "cwnd_packets").head(3)
    assert chosen.collect().equals(
        whole.samples.filter(asked).select("time_s", "cwnd_packets").head(3).collect()
    )
    assert remote.flows.head(2).collect().equals(whole.flows.head(2).collect())
    assert remote.runs.tail(1).collect()["run"].to_list() == [RUNS - 1]


def test_runs_that_cannot_be_copied_are_kept_and_the_same_command_resumes(
    store: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    log = tmp_path / "log"
    asked = SweepSettings(workers=1, engine=FakeEngine(log=log))
    with monkeypatch.context() as broken:
        broken.setattr(MemoryFileSystem, "put_file", says_no)
        with pytest.raises(TussleError) as failure:
            sweep(SCENARIO, "memory://bucket/out", asked)
    sentence = str(failure.value)
    assert sentence.startswith("cannot write memory://bucket/out (PermissionError: not yours); ")
    assert f"finished runs: {RUNS}, kept in results/memory-bucket-out.partial; repeat" in sentence
    assert not store.exists("/bucket/out/provenance.json")
    sweep(SCENARIO, "memory://bucket/out", asked)
    assert len(log.read_text().splitlines()) == RUNS
    with pytest.raises(TussleError, match="memory://bucket/out exists already"):
        sweep(SCENARIO, "memory://bucket/out", asked)


def says_no(*_arguments: object, **_options: object) -> None:
    raise PermissionError("not yours")


def test_provenance_is_copied_last(
    store: MemoryFileSystem, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    put, order = MemoryFileSystem.put_file, []

    def noting(self: MemoryFileSystem, local: str, remote: str, **options: Any) -> None:
        order.append(Path(remote).name)
        put(self, local, remote, **options)

    monkeypatch.setattr(MemoryFileSystem, "put_file", noting)
    sweep(SCENARIO, "memory://bucket/out", INLINE)
    assert order[-1] == "provenance.json"
    assert len(order) == len(TABLES) + 2
    store.rm("/bucket/out/provenance.json")
    with pytest.raises(TussleError, match=r"not a complete dataset: provenance\.json is missing"):
        Dataset.open("memory://bucket/out")


@pytest.mark.usefixtures("store")
def test_the_commands_read_and_write_remote_datasets(tussle_: Any, tmp_path: Path) -> None:
    (tmp_path / "quick.toml").write_text(QUICK)
    remote, second = "memory://bucket/quick", "memory://bucket/second"
    ran = tussle_("run", "quick.toml", "--workers", 1, "-o", remote)
    assert (ran.status, ran.problems) == (0, "")
    assert f"report: {remote}/report.html" in ran.out
    assert tussle_("run", "quick.toml", "--workers", 1, "-o", second).status == 0
    assert tussle_("report", remote, "-o", "page.html").status == 0
    assert (tmp_path / "page.html").stat().st_size > 0
    assert tussle_("plot", remote, "window").status == 0
    assert tussle_("export", remote, "flows").status == 0
    assert pl.read_csv(tmp_path / "flows.csv").height == 2
    assert tussle_("compare", remote, second).status == 0
    assert "exists already" in refused(tussle_("run", "quick.toml", "-o", remote))


@pytest.mark.parametrize(
    ("address", "reason"),
    [("s3://bucket/out", "Install s3fs to access S3"), ("quark://bucket/out", "quark")],
)
def test_an_address_without_its_library_is_refused_with_the_package_to_install(
    tussle_: Any, monkeypatch: pytest.MonkeyPatch, address: str, reason: str
) -> None:
    monkeypatch.setitem(sys.modules, "s3fs", None)
    sentence = refused(tussle_("report", address))
    assert sentence.startswith(f"{address}: remote datasets need a library for that kind of address (")
    assert reason in sentence
    assert "pip install universal-pathlib, and s3fs" in sentence


def test_a_file_address_is_a_local_folder(whole: Dataset, tmp_path: Path) -> None:
    address = (tmp_path / "a b").as_uri()
    local = sweep(SCENARIO, address, INLINE)
    assert local.folder == tmp_path / "a b"
    assert same_files(whole.folder, local.folder)
    assert not partial_of(local.folder).exists()
    assert Dataset.open(address).provenance["digest"] == whole.provenance["digest"]
