"""Every study of Tussle is complete, and its files are consistent."""

from pathlib import Path

import polars as pl
import pytest

from tussle.papers import Setting, Study, chosen_parts, estimate_s, planned, studies
from tussle.scenario import Scenario

ROOT = Path(__file__).parent.parent.parent
ALL = [Study.load(name) for name in studies()]
PARTS = [(study, part) for study in ALL for part in study.parts]
TABLES = [(study, table) for study in ALL for table in study.tables]


def name_of(value: object) -> str:
    return value.name if hasattr(value, "name") else str(value)  # pyright: ignore[reportAttributeAccessIssue]


def test_every_folder_is_a_study():
    folders = sorted(folder.name for folder in (ROOT / "papers").iterdir() if folder.is_dir())
    published = ["buffer-provisioning", "hsdpa", "lan-pairs", "linux-variants"]
    assert studies() == folders == sorted([*published, *(f"{name}-today" for name in published)])


@pytest.mark.parametrize(("study", "part"), PARTS, ids=name_of)
@pytest.mark.parametrize("size", ["full", "quick"])
def test_each_part_can_be_run_and_has_its_algorithms_at_the_given_keys(study: Study, part: str, size):
    first, *_ = planned(study, part, Setting(size)).points()
    assert set(study.parts[part].algorithms) <= set(first.axes)
    assert first.resolve(seed=1)["flows"]


@pytest.mark.parametrize(("study", "part"), PARTS, ids=name_of)
def test_other_algorithms_replace_those_of_the_study_at_every_key(study: Study, part: str):
    points = planned(study, part, Setting("quick", ("bbr", "prague"))).points()
    for key in study.parts[part].algorithms:
        assert {point.axes[key] for point in points} == {"bbr", "prague"}


def test_parts_that_sweep_the_path_are_omitted_on_another_path():
    study = Study.load("hsdpa")
    everything = chosen_parts(study, [], Setting("quick"))
    measured = ["downlink", "uplink", "files"]
    assert everything == [*measured, "outages", "buffer", "threshold", "early-drop", "uplink-errors"]
    assert chosen_parts(study, [], Setting("quick", (), "lte")) == [*measured, "threshold"]


@pytest.mark.parametrize(("study", "part"), PARTS, ids=name_of)
def test_another_path_replaces_the_path_of_the_study(study: Study, part: str):
    scenario = planned(study, part, Setting("quick", (), "fiber"))
    assert scenario.path.profile == "fiber"
    assert scenario.path.rate is None
    assert not any(axis.startswith("path.") for axis in scenario.points()[0].axes)


@pytest.mark.parametrize(("study", "table"), TABLES, ids=name_of)
def test_printed_rows_are_points_of_their_part(study: Study, table):
    printed = study.published().filter(pl.col("table") == table.name)
    assert not printed.is_empty()
    for (part,), rows in printed.group_by("part"):
        axes = [point.axes.items() for point in study.scenario(str(part)).points()]
        for row in rows.to_dicts():
            keys = {key: value for key, value in row.items() if "." in key and value}
            assert any(keys.items() <= each for each in axes), keys


@pytest.mark.parametrize("study", ALL, ids=name_of)
def test_no_printed_row_is_without_a_table(study: Study):
    assert set(study.published()["table"]) == {table.name for table in study.tables}


@pytest.mark.parametrize("study", ALL, ids=name_of)
def test_a_study_lists_the_unknowns_of_its_source(study: Study):
    assert study.not_given
    assert study.sources
    assert study.statements


@pytest.mark.parametrize("study", [each for each in ALL if each.follows], ids=name_of)
def test_a_study_with_algorithms_of_today_has_hosts_of_today_and_nothing_printed(study: Study):
    assert study.name == f"{study.follows}-today"
    assert study.published().is_empty()
    assert not study.tables
    for part in study.parts:
        scenario = study.scenario(part)
        assert scenario.hosts.profile == "linux-6.12"
        [first, *_] = study.parts[part].algorithms
        found = {point.axes[first] for point in scenario.points()}
        assert found == {"reno", "cubic", "bbr", "bbr3", "dctcp", "prague", "copa", "ledbat"}


def test_the_lan_study_printed_12_by_12_pairs_and_runs_13_by_13():
    """The study printed 12 x 12 pairs; the scenario has 13 x 13."""
    study = Study.load("lan-pairs")
    assert study.published().height == 144
    assert len(study.scenario("matrix").points()) == 169


def test_five_variants_have_a_fifth_less_than_the_others_in_table_2():
    """Packets of 1448 bytes in a round trip: the medians over the variants, for each RTT and loss."""
    study = Study.load("linux-variants")
    few = ["bic", "cubic", "scalable", "yeah", "htcp"]
    table = study.published().filter(pl.col("table") == "Table 2", pl.col("flows.0.algorithm") != "lp")
    rtt_s = pl.col("path.rtt").str.strip_suffix(" ms").cast(pl.Float64) / 1000
    medians = (
        table.with_columns(packets=pl.col("throughput_mbit_per_s") * 1e6 * rtt_s / (8 * 1448))
        .group_by("path.rtt", "path.loss", few=pl.col("flows.0.algorithm").is_in(few))
        .agg(pl.col("packets").median())
    )
    found = [medians.filter(few=each)["packets"] for each in (True, False)]
    assert [(round(each.min()), round(each.max())) for each in found] == [(389, 431), (497, 524)]  # pyright: ignore[reportArgumentType]
    assert any("389 to 431 packets" in text and "497 to 524" in text for text in study.not_given)


def test_scenarios_of_studies_also_run_as_files():
    for study in ALL:
        for file in study.folder.glob("*.toml"):
            if file.name not in ("study.toml", "statements.toml"):
                assert Scenario.load(file).question


def test_a_limited_receive_buffer_takes_time_on_linux_and_none_on_the_simulator():
    """100 Mbit/s for 30 s: 250 000 packets, of which each costs the reader about 0.2 us."""
    study = Study.load("lan-pairs-today")
    [first, *_] = planned(study, "pairs", Setting()).runs()
    unlimited = planned(study, "pairs", Setting()).set("hosts.rmem", "unlimited").runs()[:1]
    added = {
        engine: estimate_s([first], engine) - estimate_s(unlimited, engine) for engine in ("sim", "kernel")
    }
    assert added["sim"] == 0
    assert added["kernel"] == pytest.approx(250_000 * 0.2e-6)


def test_a_receive_window_limits_the_packets_of_an_estimate():
    """64 kB in each 100 ms for 300 s: 128 000 packets of 1500 bytes, each over one link."""
    plan = planned(Study.load("linux-variants"), "gigabit", Setting()).set("hosts.receive_window", "64 kB")
    [run, *_] = [run for run in plan.runs() if run.axes["path.rtt"] == "100 ms"]
    assert estimate_s([run], "sim") == pytest.approx(0.005 + 128_000 * (70e-9 + 45e-9))


def test_stations_of_802_11_share_the_packets_of_an_estimate():
    """54 Mbit/s among a flow and four stations for 300 s: 270 000 packets of 1500 bytes."""
    [run, *_] = planned(Study.load("linux-variants"), "wifi", Setting()).runs()
    assert estimate_s([run], "sim") == pytest.approx(0.005 + 270_000 * (70e-9 + 45e-9))


def test_an_estimate_has_the_packets_that_another_engine_sent():
    """5000 instead of the 25 000 000 of a full link: they cost 5000 x 115 ns."""
    [run, *_] = planned(Study.load("linux-variants"), "gigabit", Setting()).runs()
    assert estimate_s([run], "sim") == pytest.approx(0.005 + 25_000_000 * 115e-9)
    assert estimate_s([run], "sim", {run.index: 5000}) == pytest.approx(0.005 + 5000 * 115e-9)


@pytest.mark.parametrize(
    ("buffer", "window_bytes"),
    [
        # A quarter of the receive buffer is for the memory of packets.
        ({"hosts.rmem": "4096 131072 1048576", "hosts.adv_win_scale": 2}, 786_432),
        ({"hosts.wmem": "4096 16384 1048576"}, 1_048_576),
    ],
)
def test_buffers_limit_the_packets_of_an_estimate(buffer: dict[str, object], window_bytes: int):
    """What a buffer holds in each 100 ms for 300 s, in packets of 1500 bytes, each over one link."""
    plan = planned(Study.load("linux-variants"), "gigabit", Setting()).with_settings(buffer)
    [run, *_] = [run for run in plan.runs() if run.axes["path.rtt"] == "100 ms"]
    took_s = 0.005 + 3000 * window_bytes / 1500 * (70e-9 + 45e-9)
    assert estimate_s([run], "sim") == pytest.approx(took_s)
