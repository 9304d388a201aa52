"""Datasets: complete writing, and detection of damage when reading."""

import json
import math
from collections.abc import Callable
from pathlib import Path
from shutil import copytree, rmtree

import polars as pl
import pytest
from hypothesis import HealthCheck, given
from hypothesis import settings as hypothesis_settings
from hypothesis import strategies as st

import tussle
from commandline import Answer, refused
from fake_engine import FakeEngine, MeasuringEngine, tables_of
from tussle.dataset import ENGINE_TABLES, FORMAT, TABLES, Contents, Dataset, save
from tussle.dataset.digest import digest, table_digest
from tussle.errors import TussleError
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

SCENARIO = Scenario.from_dict(
    {
        "duration": "10 s",
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms"},
        "flows": [{"algorithm": ["reno", "cubic"]}, {"algorithm": "vegas"}],
    }
)
FILES = [table.file_name for table in TABLES.values()]


@pytest.fixture(scope="module")
def written(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("written") / "out"
    sweep(SCENARIO, folder, SweepSettings(workers=1, engine=FakeEngine()))
    return folder


@pytest.fixture
def copy(written: Path, tmp_path: Path) -> Path:
    return copytree(written, tmp_path / "copy")


def contents_of(dataset: Dataset) -> Contents:
    facts = {"command": "tussle run x", "engine": {"name": "fake"}, "scenario_sha256": ""}
    return Contents(dataset.scenario.to_toml(), facts, {name: dataset.table(name) for name in TABLES})


def refusal(folder: Path) -> str:
    with pytest.raises(TussleError) as refused:
        Dataset.open(folder)
    sentence = str(refused.value)
    assert "\n" not in sentence
    return sentence


def test_a_dataset_survives_writing_and_reading(written: Path) -> None:
    dataset = Dataset.open(written)
    assert dataset.scenario == SCENARIO
    assert dataset.provenance["seed"] == SCENARIO.seed
    for name, table in TABLES.items():
        schema = dataset.table(name).collect_schema()
        assert list(schema)[: len(table.columns)] == [column.name for column in table.columns]
    dataset.verify()


def test_validity_is_a_table_where_an_engine_fills_it(written: Path, tmp_path: Path) -> None:
    measured = sweep(SCENARIO, tmp_path / "out", SweepSettings(workers=1, engine=MeasuringEngine()))
    validity = measured.table("validity").collect()
    assert validity.height == measured.flows.collect().height
    assert validity["kept_up"].dtype == pl.Boolean
    measured.verify()
    with pytest.raises(TussleError, match="has no table validity: the engine fake does not write it"):
        Dataset.open(written).table("validity")
    (tmp_path / "out" / "validity.parquet").unlink()
    assert "validity.parquet is missing" in refusal(tmp_path / "out")


def test_provenance_has_the_command_that_repeats_it(written: Path) -> None:
    facts = Dataset.open(written).provenance
    assert facts["command"] == f"tussle run {written}/scenario.toml --engine fake -o {written}-again"
    assert facts["format"] == 1  # one file a table
    assert facts["engine"] == {"name": "fake", "version": "1"}
    assert set(facts["results_sha256"]) == set(TABLES)
    assert set(facts["host"]) == {"platform", "machine", "python", "polars"}


def test_the_scenario_in_a_dataset_repeats_its_results(written: Path, tmp_path: Path) -> None:
    scenario = Scenario.load(written / "scenario.toml")
    again = sweep(scenario, tmp_path / "again", SweepSettings(workers=1, engine=FakeEngine()))
    assert again.provenance["digest"] == Dataset.open(written).provenance["digest"]
    assert again.provenance["scenario_sha256"] == Dataset.open(written).provenance["scenario_sha256"]


@pytest.mark.parametrize("name", [*FILES, "scenario.toml", "provenance.json"])
def test_a_missing_file_is_named(copy: Path, name: str) -> None:
    (copy / name).unlink()
    assert f"{copy} is not a complete dataset: {name} is missing" in refusal(copy)


def test_a_folder_that_is_no_dataset_is_refused(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    assert "file is not a folder; give the folder that" in refusal(tmp_path / "file")
    assert "nowhere does not exist; give the folder that" in refusal(tmp_path / "nowhere")
    assert "provenance.json is missing" in refusal(tmp_path)


@given(keep=st.floats(0, 1, exclude_max=True), name=st.sampled_from(FILES))
@hypothesis_settings(max_examples=60, deadline=None)
def test_a_truncated_table_is_refused(written: Path, keep: float, name: str) -> None:
    copy = written.with_name("cut")
    rmtree(copy, ignore_errors=True)
    copytree(written, copy)
    data = (copy / name).read_bytes()
    (copy / name).write_bytes(data[: int(len(data) * keep)])
    assert f"{copy / name} is cut short or damaged" in refusal(copy)


@given(data=st.data(), name=st.sampled_from(FILES))
@hypothesis_settings(max_examples=80, deadline=None, suppress_health_check=[HealthCheck.data_too_large])
def test_a_changed_byte_is_detected(written: Path, data: st.DataObject, name: str) -> None:
    copy = written.with_name("changed")
    rmtree(copy, ignore_errors=True)
    copytree(written, copy)
    content = bytearray((copy / name).read_bytes())
    content[data.draw(st.integers(0, len(content) - 1))] ^= data.draw(st.integers(1, 255))
    (copy / name).write_bytes(content)
    with pytest.raises(TussleError, match=name):
        Dataset.open(copy).verify()


def test_a_changed_scenario_is_detected_by_its_digest(copy: Path) -> None:
    text = (copy / "scenario.toml").read_text()
    (copy / "scenario.toml").write_text(f"# another\n{text}")
    with pytest.raises(TussleError, match=r"scenario.toml was changed"):
        tussle.open(copy)


@pytest.mark.parametrize(
    "words",
    [["report"], ["plot", "goodput"], ["compare", "."], ["export", "flows"]],
    ids=lambda words: words[0],
)
def test_every_command_refuses_a_table_of_another_dataset(
    copy: Path, words: list[str], tussle_: Callable[..., Answer]
) -> None:
    path = copy / "flows.parquet"
    pl.read_parquet(path).with_columns(pl.col("goodput_bit_per_s") * 3).write_parquet(path)
    command, *more = words
    assert "flows.parquet was changed" in refused(tussle_(command, copy, *more))


def test_a_table_with_other_values_is_detected_by_its_digest(copy: Path) -> None:
    path = copy / "flows.parquet"
    pl.read_parquet(path).with_columns(pl.col("goodput_bit_per_s") * 1.01).write_parquet(path)
    dataset = Dataset.open(copy)
    with pytest.raises(TussleError, match=r"flows.parquet was changed .*repeat the dataset with:"):
        dataset.verify()


@pytest.mark.parametrize(
    ("change", "fault"),
    [
        (lambda flows: flows.drop("timeouts"), "column timeouts is missing"),
        (lambda flows: flows.with_columns(extra=1), "column extra is not known"),
        (
            lambda flows: flows.with_columns(pl.col("flow").cast(pl.String)),
            "column flow is String where UInt32 belongs",
        ),
    ],
)
def test_a_table_with_other_columns_is_refused(
    copy: Path, change: Callable[[pl.DataFrame], pl.DataFrame], fault: str
) -> None:
    path = copy / "flows.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    assert fault in refusal(copy)


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("runs", lambda runs: pl.concat([runs] * 3), "column run does not count from 0"),
        ("runs", lambda runs: runs.reverse(), "column run does not count from 0"),
        ("runs", lambda runs: runs.clear(), "there are no rows"),
        ("flows", lambda flows: pl.concat([flows] * 2), "columns run and flow have a flow twice"),
        (
            "flows",
            lambda flows: flows.with_columns(run=pl.col("run") + 7),
            "has runs that are not in the table runs",
        ),
        ("flows", lambda flows: flows.filter(pl.col("run") != 0), "run 0 has no flows"),
        ("samples", lambda samples: samples.with_columns(time_s=None).cast({"time_s": pl.Float64}), "time_s"),
    ],
)
def test_rows_that_a_sweep_cannot_write_are_refused(
    copy: Path, name: str, change: Callable[[pl.DataFrame], pl.DataFrame], fault: str
) -> None:
    path = copy / f"{name}.parquet"
    change(pl.read_parquet(path)).write_parquet(path)
    sentence = refusal(copy)
    assert str(path) in sentence
    assert fault in sentence


@pytest.mark.parametrize(
    "change",
    [
        {"tussle": None},
        {"engine": {"version": "1"}},
        {"digest": "0" * 64},
        {"own_algorithms_sha256": []},
    ],
    ids=str,
)
def test_a_provenance_with_missing_facts_is_refused(copy: Path, change: dict[str, object]) -> None:
    path = copy / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | change))
    assert f"{path} is cut short or damaged" in refusal(copy)


def test_an_overlong_column_name_is_abbreviated_in_the_message(copy: Path) -> None:
    path = copy / "flows.parquet"
    pl.read_parquet(path).with_columns(pl.lit(1).alias("x" * 100_000)).write_parquet(path)
    assert len(refusal(copy)) < 1000


def test_a_newer_format_asks_for_a_newer_tussle(copy: Path) -> None:
    path = copy / "provenance.json"
    path.write_text(json.dumps(json.loads(path.read_text()) | {"format": FORMAT + 1, "tussle": "9.9"}))
    assert f"written by a newer Tussle (9.9: dataset format {FORMAT + 1}; " in refusal(copy)


@pytest.mark.parametrize(
    "text", ["", "{", "[]", "null", '{"format": true}', '{"format": 0}', '{"format": 1}', "\x00"]
)
def test_a_broken_provenance_is_named(copy: Path, text: str) -> None:
    (copy / "provenance.json").write_text(text)
    assert f"{copy / 'provenance.json'} is cut short or damaged" in refusal(copy)


def test_provenance_in_another_encoding_is_named(copy: Path) -> None:
    (copy / "provenance.json").write_bytes(b"\xff\xfe{")
    assert "provenance.json is cut short or damaged" in refusal(copy)


def test_saving_over_an_existing_path_is_refused(written: Path, copy: Path) -> None:
    with pytest.raises(TussleError, match="exists already"):
        save(copy, contents_of(Dataset.open(written)))


def test_a_dataset_that_cannot_be_completed_leaves_no_files(written: Path, tmp_path: Path) -> None:
    dataset = Dataset.open(written)
    contents = contents_of(dataset)
    broken = {**contents.tables, "events": dataset.events.drop("kind")}
    with pytest.raises(TussleError, match="table events is not as declared: column kind is missing"):
        save(tmp_path / "out", Contents(contents.scenario_toml, {}, broken))
    assert not list(tmp_path.iterdir())


def test_a_dataset_saved_after_reading_has_equal_tables(written: Path, tmp_path: Path) -> None:
    save(tmp_path / "out", contents_of(Dataset.open(written)))
    for name in FILES:
        assert (tmp_path / "out" / name).read_bytes() == (written / name).read_bytes()


floats = st.one_of(st.none(), st.floats(allow_nan=True))
texts = st.one_of(st.none(), st.text(max_size=5))
rows = st.lists(st.tuples(floats, texts, st.integers(0, 2**64 - 1)), max_size=5)


def frame(values: list[tuple[float | None, str | None, int]]) -> pl.DataFrame:
    return pl.DataFrame(values, schema={"x": pl.Float64, "s": pl.String, "n": pl.UInt64}, orient="row")


@given(one=rows, other=rows)
def test_digests_are_equal_only_for_equal_tables(
    one: list[tuple[float | None, str | None, int]], other: list[tuple[float | None, str | None, int]]
) -> None:
    equal = frame(one).equals(frame(other), null_equal=True) and signs(one) == signs(other)
    assert (table_digest(frame(one).lazy()) == table_digest(frame(other).lazy())) == equal


def signs(values: list[tuple[float | None, str | None, int]]) -> list[float | None]:
    """`0.0 == -0.0`, but they are not the same result; one NaN is as good as another."""
    return [None if x is None or math.isnan(x) else math.copysign(1, x) for x, _, _ in values]


def test_a_digest_depends_on_types_and_names() -> None:
    frames = [
        pl.DataFrame({"a": [1]}),
        pl.DataFrame({"a": ["1"]}),
        pl.DataFrame({"b": [1]}),
        pl.DataFrame({"a": [1]}, schema={"a": pl.UInt32}),
    ]
    assert len({table_digest(frame.lazy()) for frame in frames}) == len(frames)


def test_a_digest_is_the_sha256_of_types_and_csv() -> None:
    # printf 'a:UInt32,b:String\na,b\n1,x\n,"y,z"\n' | sha256sum
    table = pl.LazyFrame({"a": [1, None], "b": ["x", "y,z"]}, schema={"a": pl.UInt32, "b": pl.String})
    assert table_digest(table) == "c156b655bdf1e8639a6a394c3d8543cf75fbe8af08dbdad3db7ee9547f4ad96a"


def test_the_digest_of_results_does_not_depend_on_the_order_of_tables() -> None:
    assert digest({"a": "1", "b": "2"}) == digest({"b": "2", "a": "1"}) != digest({"a": "2", "b": "1"})


def test_every_column_has_a_meaning() -> None:
    for table in TABLES.values():
        assert table.columns[0].name == "run"
        names = [column.name for column in table.columns]
        assert len(set(names)) == len(names)
        assert all(column.meaning and "\n" not in column.meaning for column in table.columns)


def conform(name: str, change: Callable[[pl.DataFrame], pl.DataFrame]) -> pl.DataFrame:
    made = tables_of(SCENARIO.runs()[0].run)[name].with_columns(run=pl.lit(0, pl.UInt32))
    return ENGINE_TABLES[name].conform(change(made))


def test_conform_orders_columns_and_widens_types() -> None:
    conformed = conform(
        "samples",
        lambda frame: frame.select(
            pl.col("time_s", "reno.quantity"),
            pl.exclude("time_s", "reno.quantity", "delivered_bytes", "state"),
            pl.col("delivered_bytes").cast(pl.UInt32),
            pl.col("state").cast(pl.Categorical),
        ),
    )
    assert conformed.schema == ENGINE_TABLES["samples"].schema(["reno.quantity"])
    assert conformed["state"].to_list() == ["open"] * 4


@pytest.mark.parametrize(
    ("name", "change", "fault"),
    [
        ("flows", lambda frame: frame.drop("timeouts"), "column timeouts is missing"),
        ("flows", lambda frame: frame.with_columns(mood=1), "column mood is not known"),
        ("samples", lambda frame: frame.with_columns(time_s=None), "column time_s has empty cells"),
        ("samples", lambda frame: frame.with_columns(cwnd_packets=pl.lit(-1)), "does not fit"),
    ],
)
def test_a_table_with_missing_columns_or_wrong_types_is_refused(
    name: str, change: Callable[[pl.DataFrame], pl.DataFrame], fault: str
) -> None:
    with pytest.raises(TussleError, match=fault) as refused:
        conform(name, change)
    assert f"the engine's table {name}" in str(refused.value)
