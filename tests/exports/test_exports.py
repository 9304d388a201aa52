"""Exports of tables, metrics and flows for other programs."""

import gzip
import json
import re
from collections.abc import Iterator
from copy import deepcopy
from functools import reduce
from operator import getitem
from pathlib import Path
from shutil import copytree
from typing import Any

import polars as pl
import pytest

import tussle
from commandline import refused
from measured import measured
from tussle.dataset import TABLES
from tussle.errors import TussleError
from tussle.exports import FORMATS, WHATS, flow_series, read_flent, read_iperf3, whole_file, without_formulas
from tussle.metrics import REGISTRY
from tussle.sweep import SweepSettings, sweep

IPERF3_LINES = {
    "start": {
        "connecting_to": {"host": "server.example", "port": 5201},
        "version": "iperf 3.9",
        "tcp_mss_default": 1408,
        "test_start": {"protocol": "TCP", "num_streams": 1, "omit": 1},
    },
    "intervals": [
        {
            "streams": [
                {
                    "socket": 5,
                    "start": start,
                    "end": start + 1,
                    "seconds": 1.0,
                    "bytes": size,
                    "bits_per_second": size * 8.0,
                    "retransmits": retransmitted,
                    "snd_cwnd": 140_800,
                    "rtt": 19_107,
                    "rttvar": 1062,
                    "pmtu": 1460,
                    "omitted": omitted,
                    "sender": True,
                }
            ],
            "sum": {"start": start, "end": start + 1, "seconds": 1.0, "bytes": size, "omitted": omitted},
        }
        for start, size, retransmitted, omitted in [
            (0, 9_000_000, 9, True),
            (0, 1_000_000, 0, False),
            (1, 2_000_000, 3, False),
        ]
    ],
    "end": {"sender_tcp_congestion": "cubic", "receiver_tcp_congestion": "cubic"},
}
"""Two seconds of a flow after one that was omitted, as iperf 3.9 writes them."""


_WHAT_OF_FORMAT = {"flent": "flow", "iperf3": "flow", "pcapng": "packets", "mahimahi": "queue-log"}


@pytest.fixture
def folder() -> Path:
    return measured().folder


def left_over(tmp_path: Path) -> list[str]:
    return sorted(path.name for path in tmp_path.iterdir())


# --- opening ---


def test_a_dataset_is_opened_by_its_folder(folder: Path):
    dataset = tussle.open(folder)
    assert dataset.scenario == measured().scenario
    assert tussle.open(str(folder)).flows.collect().equals(dataset.flows.collect())


def test_a_dataset_that_was_changed_is_not_opened(folder: Path, tmp_path: Path):
    copy = copytree(folder, tmp_path / "copy")
    flows = copy / "flows.parquet"
    pl.read_parquet(flows).with_columns(pl.col("timeouts") + 1).write_parquet(flows)
    with pytest.raises(TussleError, match=r"flows.parquet was changed"):
        tussle.open(copy)


# --- tables and metrics ---


@pytest.mark.parametrize("table", TABLES)
def test_a_table_is_exported_unchanged(tussle_, folder: Path, tmp_path: Path, table: str):
    for suffix in ("csv", "parquet", "json"):
        name = {"csv": "csv", "parquet": "parquet", "json": "json"}[suffix]
        assert tussle_("export", folder, table, "-o", f"x.{suffix}").out == f"{name}: x.{suffix}\n"
    expected = measured().table(table).collect()
    assert pl.read_parquet(tmp_path / "x.parquet").equals(expected)
    assert pl.read_csv(tmp_path / "x.csv", schema=expected.schema).equals(expected)
    assert json.loads((tmp_path / "x.json").read_text())[-1] == expected.row(-1, named=True)


@pytest.mark.parametrize("metric", REGISTRY)
def test_every_metric_is_exported_with_the_keys_of_its_rows(
    tussle_, folder: Path, tmp_path: Path, metric: str
):
    assert tussle_("export", folder, metric, "-o", "x.parquet").status == 0
    exported = pl.read_parquet(tmp_path / "x.parquet")
    computed = REGISTRY[metric].compute(measured())
    assert exported.select(computed.columns).equals(computed)
    if "run" in REGISTRY[metric].per:
        assert {"point", "repetition", "flows.0.algorithm", "flows.1.algorithm"} <= set(exported.columns)
    if "flow" in REGISTRY[metric].per:
        assert exported["algorithm"].unique().sort().to_list() == ["cubic", "reno"]


def test_a_summary_has_a_row_per_point_and_flow_with_quartiles(tussle_, folder: Path, tmp_path: Path):
    assert tussle_("export", folder, "goodput", "--summary").out == "csv: goodput.csv\n"
    table = pl.read_csv(tmp_path / "goodput.csv")
    assert table.columns[:7] == [
        "point",
        "flows.0.algorithm",
        "flows.1.algorithm",
        "flow",
        "name",
        "algorithm",
        "repetitions",
    ]
    assert table.columns[-2:] == ["goodput_bit_per_s_low", "goodput_bit_per_s_high"]
    assert table.height == 8
    assert table["algorithm"].to_list() == [
        "reno",
        "reno",
        "reno",
        "cubic",
        "cubic",
        "reno",
        "cubic",
        "cubic",
    ]


def test_latex_output_has_rules_escapes_and_all_columns(tussle_, folder: Path, tmp_path: Path):
    assert tussle_("export", folder, "share", "--format", "latex").out == "latex: share.tex\n"
    lines = (tmp_path / "share.tex").read_text().splitlines()
    assert lines[1] == r"\begin{tabular}{rrrllrllr}"
    columns = [
        *("run", "point", "repetition", "flows.0.algorithm", "flows.1.algorithm"),
        *("flow", "name", "algorithm", "share"),
    ]
    assert lines[3] == f"{' & '.join(columns)} \\\\"
    assert re.fullmatch(r"0 & 0 & 0 & reno & reno & 0 & flow-0 & reno & 0\.\d+ \\\\", lines[5])
    assert (lines[2], lines[-2]) == (r"\toprule", r"\bottomrule")
    assert tussle_("export", folder, "goodput", "-o", "g.tex").status == 0
    assert r"goodput\_bit\_per\_s \\" in (tmp_path / "g.tex").read_text()


def test_text_of_a_dataset_is_no_formula_in_a_spreadsheet():
    table = pl.LazyFrame({"name": ["=1+1", "+x", "-y", "@z", "plain", None], "ms": [-1, 2, 3, 4, 5, 6]})
    guarded = without_formulas(table).collect()
    assert guarded["name"].to_list() == ["'=1+1", "'+x", "'-y", "'@z", "plain", None]
    assert guarded["ms"].to_list() == [-1, 2, 3, 4, 5, 6]


def test_names_of_tables_and_metrics_and_flow_are_different():
    assert len(set(WHATS)) == len(WHATS)
    assert "flow" not in WHATS


def test_the_same_dataset_gives_the_same_bytes(tussle_, folder: Path, tmp_path: Path):
    for name, format_ in [(name, chosen) for name, chosen in FORMATS.items() if name != "parquet"]:
        what = _WHAT_OF_FORMAT.get(name, "rtt")
        files = [tmp_path / f"{once}{format_.suffix}" for once in ("once", "again")]
        for file in files:
            assert tussle_("export", folder, what, "--format", name, "-o", file).status == 0
        assert files[0].read_bytes() == files[1].read_bytes()


@pytest.mark.parametrize(
    ("arguments", "sentence"),
    [
        (["goodputt"], 'unknown table or metric "goodputt"; did you mean "goodput"?'),
        (["goodput", "--format", "xlsx"], '--format: unknown format "xlsx"; '),
        (
            ["goodput", "-o", "x.xlsx"],
            "x.xlsx ends in none of .csv, .parquet, .json, .tex, .flent.gz, .pcapng, .log; ",
        ),
        (["goodput", "-o", "nowhere/x.csv"], "cannot write nowhere/x.csv: there is no folder nowhere; "),
        (
            ["goodput", "--format", "flent"],
            "goodput can be exported as csv, parquet, json or latex, not as flent; ",
        ),
        (["flow", "-o", "x.csv"], "flow can be exported as flent or iperf3, not as csv; "),
        (["flow", "--run", "99"], "{folder} has no flow 0 in a run 99; its runs are 0 to 7 (--run), "),
        (["flow", "--flow", "2"], "{folder} has no flow 2 in a run 0; "),
        (["runs", "--summary"], "--summary is for metrics, and runs is not a metric; "),
    ],
)
def test_a_refused_export_leaves_no_file(
    tussle_, folder: Path, tmp_path: Path, arguments: list[str], sentence: str
):
    assert refused(tussle_("export", folder, *arguments)).startswith(sentence.format(folder=folder))
    assert left_over(tmp_path) == []


def test_a_folder_that_is_no_dataset_or_a_damaged_one_is_refused(tussle_, folder: Path, tmp_path: Path):
    assert refused(tussle_("export", "nowhere", "goodput")).startswith(
        "nowhere does not exist; give the folder"
    )
    copy = copytree(folder, tmp_path / "copy")
    samples = copy / "samples.parquet"
    samples.write_bytes(samples.read_bytes()[:-100])
    assert refused(tussle_("export", "copy", "goodput")).startswith("copy/samples.parquet was changed")
    assert left_over(tmp_path) == ["copy"]


def test_a_table_without_rows_is_refused(tussle_, tmp_path: Path):
    (tmp_path / "x.toml").write_text(
        'duration = "1 s"\nrecord.samples = "off"\n[path]\nrate = "1 Mbit/s"\nrtt = "10 '
        'ms"\n[[flows]]\nalgorithm = "reno"\n'
    )
    assert tussle_("run", "x.toml", "-o", "quiet").status == 0
    assert refused(tussle_("export", "quiet", "events", "-o", "x.csv")).startswith(
        "quiet: events has no rows"
    )
    assert refused(tussle_("export", "quiet", "starvation")).startswith("starvation needs time series")
    assert left_over(tmp_path) == ["quiet", "x.toml"]


def test_an_unfinished_export_is_not_visible(tmp_path: Path):
    old = tmp_path / "x.csv"
    old.write_text("what was there")

    def half(path: Path) -> None:
        path.write_text("half")
        raise OSError(28, "No space left on device")

    with pytest.raises(
        TussleError, match=r"cannot write .*x.csv: No space left on device; give another file"
    ):
        whole_file(old, half)
    assert left_over(tmp_path) == ["x.csv"]
    assert old.read_text() == "what was there"


# --- flows ---


def test_intervals_of_an_exported_flow_sum_to_its_delivered_bytes():
    series = flow_series(measured(), 3, 1)
    flow = measured().flows.filter(pl.col("run") == 3, pl.col("flow") == 1).collect().row(0, named=True)
    assert series.algorithm == flow["algorithm"] == "cubic"
    assert series.table["delivered_bytes"].sum() == flow["delivered_bytes"] == 8_000_000
    assert series.table["retransmitted_packets"].sum() == flow["retransmitted_packets"]
    assert series.table["time_s"][-1] == pytest.approx(20 - flow["start_s"])
    assert series.table["interval_s"].sum() == pytest.approx(series.table["time_s"][-1])
    assert series.segment_bytes == 1448


@pytest.mark.parametrize(
    ("name", "file", "read"), [("flent", "x.flent.gz", read_flent), ("iperf3", "x.json", read_iperf3)]
)
def test_an_exported_flow_survives_writing_and_reading(
    tussle_, folder: Path, tmp_path: Path, name: str, file: str, read
):
    answer = tussle_("export", folder, "flow", "--format", name, "--run", 3, "--flow", 1, "-o", file)
    assert answer.out == f"{name}: {file}\n"
    found, written = read(tmp_path / file), flow_series(measured(), 3, 1)
    assert (found.algorithm, found.title, found.tool) == (written.algorithm, written.title, written.tool)
    assert found.segment_bytes == written.segment_bytes
    for column in ("delivered_bytes", "retransmitted_packets", "cwnd_bytes"):
        assert found.table[column].to_list() == written.table[column].to_list()
    for column in ("time_s", "interval_s", "rtt_ms"):
        assert found.table[column].to_list() == pytest.approx(written.table[column].to_list(), abs=1e-3)


def test_a_flent_file_has_the_fields_that_flent_reads(tussle_, folder: Path, tmp_path: Path):
    """The format of flent 2.3: version 4, one value a series and x, time and units in the metadata."""
    assert tussle_("export", folder, "flow").out == "flent: flow.flent.gz\n"
    document = json.loads(gzip.decompress((tmp_path / "flow.flent.gz").read_bytes()))
    assert document["version"] == 4
    assert {len(values) for values in document["results"].values()} == {len(document["x_values"])}
    assert {"TCP upload", "Ping (ms) ICMP"} <= document["results"].keys()
    assert {"NAME", "TITLE", "TIME", "T0", "LENGTH", "STEP_SIZE"} <= document["metadata"].keys()
    assert (
        {"t", "val", "tcp_cwnd", "tcp_rtt"} >= document["raw_values"]["TCP upload"][-1].keys() >= {"t", "val"}
    )


def test_a_flent_title_fits_the_plot_and_ends_with_the_flow(tussle_, tmp_path: Path):
    """The question has 84 characters; flent's plots have room for about 60."""
    questioning = measured().scenario.set("question", "Which of these share a link " + "for very long " * 4)
    sweep(questioning, tmp_path / "asked", SweepSettings(workers=1))
    assert tussle_("export", "asked", "flow", "--run", 1).status == 0
    metadata = json.loads(gzip.decompress((tmp_path / "flow.flent.gz").read_bytes()))["metadata"]
    assert len(metadata["TITLE"]) <= 60
    assert metadata["TITLE"].endswith("Run 1, flow-0 (reno)")
    assert metadata["NOTE"].startswith("Which of these share a link for very long")
    assert read_flent(tmp_path / "flow.flent.gz").title.startswith("Which of these share a link")


def test_an_iperf3_file_has_every_field_that_its_python_package_reads(tussle_, folder: Path, tmp_path: Path):
    """The subscripts of `TestResult` in iperf3 0.1.11, for TCP."""
    assert tussle_("export", folder, "flow", "--format", "iperf3").status == 0
    document = json.loads((tmp_path / "flow.json").read_text())
    start, end = document["start"], document["end"]
    assert {"time", "timesecs"} <= start["timestamp"].keys()
    assert {"system_info", "version", "connecting_to"} <= start.keys()
    ends = {f"{side}_{what}" for side in ("local", "remote") for what in ("host", "port")}
    assert ends <= start["connected"][0].keys()
    asked = {"protocol", "num_streams", "blksize", "omit", "duration", "reverse"}
    assert asked <= start["test_start"].keys()
    parts = {f"{side}_{part}" for side in ("host", "remote") for part in ("total", "user", "system")}
    assert parts <= end["cpu_utilization_percent"].keys()
    assert all({"bytes", "bits_per_second"} <= end[each].keys() for each in ("sum_sent", "sum_received"))


def test_iperf3_totals_are_the_sums_of_its_intervals(tussle_, folder: Path, tmp_path: Path):
    assert tussle_("export", folder, "flow", "--format", "iperf3").status == 0
    document = json.loads((tmp_path / "flow.json").read_text())
    received = document["end"]["sum_received"]
    assert received["bytes"] == sum(each["sum"]["bytes"] for each in document["intervals"])
    assert received["bits_per_second"] == pytest.approx(received["bytes"] * 8 / received["seconds"])
    for each in document["intervals"]:
        assert each["streams"][0]["bits_per_second"] == pytest.approx(
            each["sum"]["bytes"] * 8 / each["sum"]["seconds"]
        )
    assert document["end"]["sender_tcp_congestion"] == "reno"


def test_reading_iperf3_skips_omitted_intervals(tmp_path: Path):
    file = tmp_path / "x.json"
    file.write_text(json.dumps(IPERF3_LINES))
    series = read_iperf3(file)
    assert (series.algorithm, series.title, series.tool) == ("cubic", "iperf3 to server.example", "iperf 3.9")
    assert series.table.rows() == [
        (1.0, 1.0, 1_000_000, 0, 140_800, 19.107),
        (2.0, 1.0, 2_000_000, 3, 140_800, 19.107),
    ]


FLENT_DOCUMENT = {
    "version": 4,
    "metadata": {"NAME": "tcp_download", "TITLE": None, "FLENT_VERSION": "2.0.1"},
    "x_values": [0.0, 0.5, 1.0],
    "results": {"TCP download": [None, 4.0, 8.0], "Ping (ms) ICMP": [None, None, 21.5]},
    "raw_values": {},
}
"""A second of a flow, the first ping of which was lost, as flent 2 writes it."""


def test_reading_flent_keeps_gaps_in_the_series(tmp_path: Path):
    """4 Mbit/s over half a second are 250 kB; a lost ping is a gap."""
    file = tmp_path / "x.flent"
    file.write_text(json.dumps(FLENT_DOCUMENT))
    series = read_flent(file)
    assert (series.title, series.tool, series.segment_bytes) == ("tcp_download", "flent 2.0.1", None)
    assert series.table.rows() == [
        (0.5, 0.5, 250_000, None, None, None),
        (1.0, 0.5, 500_000, None, None, 21.5),
    ]


def places(value: Any, place: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Yield the keys of every value in a document."""
    yield place
    items = value.items() if isinstance(value, dict) else enumerate(value) if isinstance(value, list) else ()
    for key, inner in items:
        yield from places(inner, (*place, key))


@pytest.mark.parametrize(("document", "read"), [(IPERF3_LINES, read_iperf3), (FLENT_DOCUMENT, read_flent)])
def test_a_mutated_file_is_read_or_refused_with_a_message(tmp_path: Path, document: Any, read):
    file = tmp_path / "x.json"
    odd = [None, -1, 1e308, float("inf"), float("nan"), "x", [], {}, True, 10**30, [[1]], {"a": 1}, 0, -0.5]
    refusals: list[str] = []
    for place in list(places(document))[1:]:
        for value in odd:
            changed = deepcopy(document)
            reduce(getitem, place[:-1], changed)[place[-1]] = value
            file.write_text(json.dumps(changed))
            try:
                table = read(file).table
            except TussleError as refusal:
                refusals.append(str(refusal))
            else:
                assert table.height > 0, (place, value)
                assert table["interval_s"].is_finite().all(), (place, value)
    assert len(refusals) > 100
    assert [sentence for sentence in refusals if "\n" in sentence] == []


@pytest.mark.parametrize("read", [read_flent, read_iperf3])
@pytest.mark.parametrize(
    "content", [b"", b"{", b"[]", b"{}", b'{"intervals": 1}', b"\x1f\x8b\x08", b"\xff\xfe"]
)
@pytest.mark.parametrize("name", ["x.json", "x.flent.gz"])
def test_a_file_of_another_format_is_refused(tmp_path: Path, read, content: bytes, name: str):
    file = tmp_path / name
    file.write_bytes(content)
    with pytest.raises(TussleError) as refusal:
        read(file)
    assert str(refusal.value).startswith(str(file))
    assert "\n" not in str(refusal.value)


@pytest.mark.parametrize("read", [read_flent, read_iperf3])
def test_a_file_that_is_missing_is_refused(tmp_path: Path, read):
    with pytest.raises(TussleError, match="cannot be read: No such file or directory"):
        read(tmp_path / "nowhere")


def test_several_streams_are_not_one_flow(tmp_path: Path):
    file = tmp_path / "x.json"
    interval = IPERF3_LINES["intervals"][1]
    file.write_text(
        json.dumps({**IPERF3_LINES, "intervals": [{**interval, "streams": interval["streams"] * 2}]})
    )
    with pytest.raises(TussleError, match="has 2 streams; give a file with one"):
        read_iperf3(file)


def test_a_flent_file_of_another_test_is_refused(tmp_path: Path):
    file = tmp_path / "x.flent"
    file.write_text(json.dumps({"metadata": {"NAME": "ping"}, "x_values": [1], "results": {"Ping": [3]}}))
    with pytest.raises(TussleError, match="has no flow, but Ping; give a file of tcp_upload or tcp_download"):
        read_flent(file)
