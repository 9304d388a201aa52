"""The reasons that the pages of studies give, held against printed numbers, results and runs."""

from __future__ import annotations

import re
from pathlib import Path

import polars as pl
import pytest

from tussle.papers import Study, studies
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

PAGES = Path(__file__).parents[2] / "docs" / "papers"
A_FIFTH = 0.2


def said(study: str, table: str = "") -> str:
    """Return the reasons of a study, or of one of its tables."""
    given = Study.load(study)
    [*causes] = [each.cause for each in given.tables if each.name == table] if table else given.causes
    return " ".join(causes)


def printed(study: str, table: str) -> pl.DataFrame:
    return Study.load(study).published().filter(pl.col("table") == table)


@pytest.mark.parametrize("name", [name for name in studies() if not Study.load(name).follows])
def test_each_table_has_a_reason_for_its_differences_on_its_page(name: str):
    study = Study.load(name)
    page = " ".join((PAGES / f"{name}.md").read_text("utf-8").split())
    assert study.causes
    for cause in study.causes:
        assert f"- {cause} " in page
    for table in study.tables:
        assert table.cause
        assert f"Why: {table.cause} " in page
    texts = " ".join((*study.causes, *(table.cause for table in study.tables)))
    assert set(re.findall(r"parts? `([\w-]+)`", texts)) <= study.parts.keys()


@pytest.mark.parametrize(
    ("study", "path", "buffers", "others"),
    [
        ("lan-pairs-today", {"profile": "lan"}, {"150 kB": "12 ms", "2.5 MB": "200 ms"}, ["cubic", "reno"]),
        (
            "linux-variants-today",
            {"rate": "1 Gbit/s", "rtt": "20 ms"},
            {"1 MB": "8 ms", "20 MB": "160 ms"},
            ["cubic"],
        ),
    ],
)
def test_ledbat_yields_in_the_deep_buffer_alone(
    study: str, path: dict[str, str], buffers: dict[str, str], others: list[str], tmp_path: Path
):
    """A buffer holds its bytes over the rate: 150 kB / 100 Mbit/s = 12 ms."""
    holds, deep = buffers.values()
    assert f"holds {holds}" in said(study)
    assert f"In a buffer of {deep} it yields to " in said(study)
    scenario = {
        "duration": "60 s",
        "steady": {"from": "20 s"},
        "path": {**path, "queue": {"limit": list(buffers)}},
        "flows": [{"algorithm": others}, {"algorithm": "ledbat", "start": "10 s"}],
    }
    dataset = sweep(Scenario.from_dict(scenario), tmp_path / "runs", SweepSettings())
    got = pl.col("goodput_bit_per_s")
    shares = (
        dataset.flows.join(dataset.runs, on="run")
        .group_by("path.queue.limit", *(["flows.0.algorithm"] if len(others) > 1 else []))
        .agg(share=got.filter(pl.col("algorithm") == "ledbat").sum() / got.sum())
        .collect()
    )
    least, most = (shares.filter(pl.col("path.queue.limit") == limit)["share"].to_list() for limit in buffers)
    assert len(least) == len(most) == len(others)
    assert min(least) > A_FIFTH
    assert max(most) < A_FIFTH


def test_fq_codel_costs_one_flow_of_cubic_more_than_four_and_dctcp_next_to_nothing():
    assert "costs one flow more than four, and costs DCTCP" in said("hsdpa-today")
    table = pl.read_csv(PAGES / "hsdpa-today" / "comparison.csv")
    rows = table.filter(pl.col("part") == "downlink", pl.col("quantity") == "total")
    for engine in ("sim", "kernel-linux-6.12"):
        total = dict(rows.filter(engine=engine).select("row", "mean").iter_rows())

        def cost(phone: str, algorithm: str, flows: int, total: dict[str, float] = total) -> float:
            fifo, fair = (total[f"{phone}, {queue}, {algorithm}, {flows}"] for queue in ("fifo", "fq_codel"))
            return 1 - fair / fifo

        for phone in ("hsdpa", "lte"):
            assert cost(phone, "cubic", 1) > cost(phone, "cubic", 4) > 0.05
            assert cost(phone, "dctcp", 1) < 0.03


def test_two_stations_bring_the_wifi_of_the_testbed_nearer_to_print_than_four():
    assert "with two stations instead of the four that are chosen" in said("linux-variants", "Table 6")
    page = (PAGES / "linux-variants.md").read_text("utf-8")
    section = page.partition("### Scenario 5 over the number of other stations\n")[2].partition("\n### ")[0]
    rows = [line.strip("| ").split(" | ") for line in section.splitlines() if "| Table 6 |" in line]
    for engine in ("simulator", "simulator, the study's hosts", "Linux"):
        found = {stations: (rank, off) for each, stations, _, rank, off, *_ in rows if each == engine}
        off = {stations: float(off.rstrip("% ")) for stations, (_, off) in found.items()}
        assert min(off, key=off.__getitem__) == "2"
        assert off["2"] < off["4"] / 2
        assert all(float(rank) < 0 for rank, _ in found.values()), "the order does not come nearer"


def test_what_the_reasons_say_of_printed_numbers_is_so():
    rate = pl.col("throughput_mbit_per_s")
    one_end = printed("linux-variants", "Table 7, one end").select(rate.mean() / 2).item()
    assert "about a fifth" in said("linux-variants", "Table 7, one end")
    assert one_end == pytest.approx(0.2, abs=0.02)
    wifi = printed("linux-variants", "Table 6").sort(rate)["flows.0.algorithm"]
    assert set(wifi[:2]) == {"scalable", "illinois"}
    assert "Illinois and YeAH have the same printed numbers in two columns" in said(
        "linux-variants", "Table 5"
    )
    change = printed("linux-variants", "Table 5")
    alike, other = (change.filter(pl.col("flows.0.algorithm") == name) for name in ("illinois", "yeah"))
    columns = ("during_mbit_per_s", "after_mbit_per_s")
    assert alike.select(columns).equals(other.select(columns))


def test_the_variants_of_the_ns_2_study_leave_reno_a_fifth_where_their_rtt_is_shorter():
    assert "but for Scalable, leave Reno a fifth or more" in said("buffer-provisioning", "Table II")
    rows = printed("buffer-provisioning", "Table II").filter(pl.col("part") == "near")
    reno = rows.select(
        "flows.0.algorithm",
        share=pl.col("host_b_mbit_per_s") / (pl.col("host_a_mbit_per_s") + pl.col("host_b_mbit_per_s")),
    )
    assert reno.height == 6
    assert reno.filter(pl.col("share") < A_FIFTH)["flows.0.algorithm"].to_list() == ["scalable"]


@pytest.mark.parametrize(
    ("study", "part", "row", "numbers"),
    [
        ("linux-variants-today", "gigabit", "4096 131072 6291456, 4096 16384 4194304, 0 %, reno", (138, 212)),
        ("buffer-provisioning-today", "single", "0.2 bdp, reno", (167, 145)),
        ("buffer-provisioning-today", "single", "0.4 bdp, cubic", (150, 193)),
    ],
)
def test_linux_6_12_and_the_simulator_differ_where_their_windows_do_as_stated(
    study: str, part: str, row: str, numbers: tuple[int, int]
):
    [cause] = [each for each in Study.load(study).causes if "receive window" in each]
    page = " ".join((PAGES / f"{study}.md").read_text("utf-8").split())
    assert f"- {cause} " in page
    table = pl.read_csv(PAGES / study / "comparison.csv")
    rows = table.filter(part=part, row=row, quantity="goodput")
    for number, engine in zip(numbers, ("kernel-linux-6.12", "sim"), strict=True):
        assert round(rows.filter(engine=engine)["mean"].item()) == number
        assert re.search(rf"\b{number}\b", cause)
