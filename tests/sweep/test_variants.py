"""An engine with several variants, which are an axis outside the scenario."""

import filecmp
from pathlib import Path

import polars as pl
import pytest

from fake_engine import FakeEngine, Run, fails_on_20_mbit_per_s, tables_of, takes_a_moment
from tussle.dataset import KERNEL_AXIS, TABLES, Dataset
from tussle.engines import Variants
from tussle.errors import TussleError
from tussle.metrics import REGISTRY, axis_columns, pairs
from tussle.provenance import command
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, plan, sweep
from tussle.sweep.plan import runs_of

SCENARIO = Scenario.from_dict(
    {
        "duration": "10 s",
        "repetitions": 2,
        "path": {"rate": ["10 Mbit/s", "20 Mbit/s"], "rtt": "20 ms"},
        "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}],
    }
)
TWO = {"old": FakeEngine(version="1"), "new": FakeEngine(version="2")}


def variants(**engines: FakeEngine) -> Variants:
    return Variants(KERNEL_AXIS, engines or TWO)


def inline(engine: Variants) -> SweepSettings:
    return SweepSettings(workers=1, engine=engine)


def same_bytes(one: Dataset, other: Dataset) -> bool:
    names = [table.file_name for table in TABLES.values()] + ["scenario.toml"]
    _, different, failed = filecmp.cmpfiles(one.folder, other.folder, names, shallow=False)
    return not different and not failed and one.provenance["digest"] == other.provenance["digest"]


@pytest.fixture(scope="module")
def dataset(tmp_path_factory: pytest.TempPathFactory) -> Dataset:
    return sweep(SCENARIO, tmp_path_factory.mktemp("variants") / "out", inline(variants()))


def test_every_point_runs_on_each_variant_with_the_same_seeds():
    """2 rates · 2 algorithms · 2 kernels, twice each; the kernel varies fastest."""
    runs = runs_of(SCENARIO, variants())
    assert [planned.index for planned in runs] == list(range(16))
    assert [planned.point for planned in runs] == [index // 2 for index in range(16)]
    assert [planned.axes["kernel"] for planned in runs[:6]] == ["old", "old", "new", "new", "old", "old"]
    assert list(runs[0].axes) == ["path.rate", "flows.0.algorithm", "kernel"]
    seeds = {(planned.axes["kernel"], planned.repetition): planned.seed for planned in runs}
    assert len(seeds) == 4
    assert all(seeds["old", repetition] == seeds["new", repetition] for repetition in (0, 1))


def test_each_variant_executes_the_same_runs_as_a_sweep_without_variants(tmp_path: Path):
    """An engine receives the run without any trace of other variants."""
    logs = {name: tmp_path / name for name in ("alone", "old", "new")}
    sweep(SCENARIO, tmp_path / "a", SweepSettings(workers=1, engine=FakeEngine(log=logs["alone"])))
    engines = {name: FakeEngine(log=logs[name]) for name in ("old", "new")}
    sweep(SCENARIO, tmp_path / "b", inline(variants(**engines)))
    assert logs["old"].read_text() == logs["new"].read_text() == logs["alone"].read_text()


class Particular(FakeEngine):
    """An engine that refuses keys outside the format of runs."""

    def execute(self, run: Run) -> dict[str, pl.DataFrame]:
        assert "variant" not in run
        return tables_of(run)


def test_an_engine_does_not_receive_the_key_of_the_variant(tmp_path: Path):
    sweep(SCENARIO, tmp_path / "out", inline(variants(old=Particular(), new=Particular())))


def test_the_variant_is_an_axis_like_any_other(dataset: Dataset):
    assert axis_columns(dataset) == ["path.rate", "flows.0.algorithm", "kernel"]
    assert dataset.runs.collect()["kernel"].to_list()[:4] == ["old", "old", "new", "new"]
    slices = pairs(dataset)["slice"].unique(maintain_order=True).to_list()
    assert slices[:2] == ["path.rate = 10 Mbit/s, kernel = old", "path.rate = 10 Mbit/s, kernel = new"]


def test_provenance_has_the_facts_of_each_variant_and_a_command_that_repeats_them(dataset: Dataset):
    assert dataset.provenance["engine"] == {
        "name": "fake",
        "kernel": "old,new",
        "old version": "1",
        "new version": "2",
    }
    assert "--kernel old,new" in command(Path("out"), {"name": "kernel", "kernel": "old,new"})


@pytest.mark.parametrize("workers", [1, 2])
def test_any_number_of_workers_writes_the_same_bytes(dataset: Dataset, tmp_path: Path, workers: int):
    again = sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=workers, engine=variants()))
    assert same_bytes(dataset, again)


def test_a_stopped_sweep_resumes_with_the_missing_runs(dataset: Dataset, tmp_path: Path):
    """The first 8 of 16 runs have 10 Mbit/s; the ninth is the first that fails, on either kernel."""
    failing = {
        name: FakeEngine(side_effect=fails_on_20_mbit_per_s, version=TWO[name].version) for name in TWO
    }
    with pytest.raises(TussleError, match=r"run 8 .*kernel = old.* failed: .*finished runs: 8, kept in"):
        sweep(SCENARIO, tmp_path / "out", inline(variants(**failing)))
    log = tmp_path / "log"
    engines = {name: FakeEngine(log=log, version=engine.version) for name, engine in TWO.items()}
    again = sweep(SCENARIO, tmp_path / "out", inline(variants(**engines)))
    assert len(log.read_text().splitlines()) == 8
    assert same_bytes(dataset, again)


@pytest.mark.parametrize(
    "engine",
    [
        variants(old=TWO["old"], newer=TWO["new"]),
        variants(new=TWO["new"], old=TWO["old"]),
        variants(old=TWO["old"], new=FakeEngine(version="3")),
        TWO["old"],
    ],
    ids=["another name", "another order", "another build", "one alone"],
)
def test_a_sweep_with_other_variants_is_not_resumed(tmp_path: Path, engine: FakeEngine):
    failing = {
        name: FakeEngine(side_effect=fails_on_20_mbit_per_s, version=TWO[name].version) for name in TWO
    }
    with pytest.raises(TussleError, match="finished runs: 8"):
        sweep(SCENARIO, tmp_path / "out", inline(variants(**failing)))
    with pytest.raises(TussleError, match=r"of another sweep \(engine differs\)"):
        sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=1, engine=engine))


def test_a_run_that_one_variant_cannot_execute_is_refused_before_the_first_run(tmp_path: Path):
    log = tmp_path / "log"
    engines = {"old": FakeEngine(log=log, refuses="cubic"), "new": FakeEngine(log=log)}
    with pytest.raises(TussleError, match=r"run 4 \(.*kernel = old, .*\): no algorithm cubic here"):
        sweep(SCENARIO, tmp_path / "out", inline(variants(**engines)))
    assert not log.exists()


def test_harm_uses_the_baseline_run_of_the_same_variant(tmp_path: Path):
    """A flow's baseline goodput depends on the kernel, so that harm must not mix kernels."""
    dataset = sweep(SCENARIO.set("baseline", "on"), tmp_path / "out", inline(variants()))
    assert dataset.baseline is not None
    assert dataset.runs.collect().height == 16
    # 2 rates · (2 + 1) flows alone · 2 kernels, twice each.
    alone = dataset.baseline.runs.collect()
    assert alone.height == 24
    assert alone.columns[-2:] == ["kernel", "baseline"]
    assert REGISTRY["harm"].compute(dataset).height == 32


def test_a_sweep_with_too_many_runs_for_a_dataset_is_refused(monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setattr(plan, "MOST_RUNS", 15)
    with pytest.raises(TussleError, match=r"^kernel: 8 runs on each of 2 are more than 15; give"):
        runs_of(SCENARIO, variants())
    monkeypatch.setattr(plan, "MOST_RUNS", 16)
    assert len(runs_of(SCENARIO, variants())) == 16


def test_variants_take_turns_where_the_order_is_round_robin(tmp_path: Path):
    log = tmp_path / "log"
    engines = {name: FakeEngine(side_effect=takes_a_moment, log=log, version=name) for name in TWO}
    settings = SweepSettings(workers=1, engine=variants(**engines), order="round-robin")
    dataset = sweep(SCENARIO.set("path.rate", "10 Mbit/s"), tmp_path / "out", settings)
    assert dataset.runs.collect().height == 8
    seeds = [line.split()[-1] for line in log.read_text().splitlines()]
    assert len(set(seeds[:4])) == len(set(seeds[4:])) == 1
