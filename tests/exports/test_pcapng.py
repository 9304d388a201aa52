"""Packets of a simulated run, read by tshark."""

import shutil
import statistics
import subprocess
from pathlib import Path

import polars as pl
import pytest

import tussle
from conftest import skip_or_fail
from tussle.engines.sim import SimEngine
from tussle.exports.pcapng import _addresses
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

SEGMENT_BYTES, HEADER_BYTES = 1448, 52
LOSSY = {
    "duration": "6 s",
    "repetitions": 1,
    "record": {"events": True},
    "path": {"rate": "10 Mbit/s", "rtt": "40 ms", "loss": "0.5 %"},
    "flows": [
        {"name": "a", "algorithm": "cubic", "bytes": "1000001 B"},
        {"name": "b", "algorithm": "reno", "start": "1 s"},
    ],
}
MARKED = {
    "duration": "4 s",
    "path": {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"kind": "threshold", "mark_above": "10 packets"}},
    "flows": [{"algorithm": "dctcp", "sender": {"ecn": True}}],
}


@pytest.fixture(scope="module")
def tshark() -> str:
    found = shutil.which("tshark")
    if found is None:
        skip_or_fail("there is no tshark; `apt-get install tshark` installs it")
    return found


@pytest.fixture(scope="module")
def lossy(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("lossy") / "data"
    sweep(Scenario.from_dict(LOSSY), folder, SweepSettings(workers=1))
    return folder


def fields(tshark: str, capture: Path, *names: str) -> list[list[str]]:
    """Return the values of these fields, one list per packet."""
    wanted = [word for name in names for word in ("-e", name)]
    command = [tshark, "-r", str(capture), "-T", "fields", "-E", "separator=|", *wanted]
    printed = subprocess.run(command, capture_output=True, text=True, check=True).stdout
    return [line.split("|") for line in printed.splitlines()]


def export(tussle_, folder: Path, *options: object) -> Path:
    answer = tussle_("export", folder, "packets", "-o", "run.pcapng", *options)
    assert answer.status == 0, answer.problems
    return Path("run.pcapng").absolute()


def test_tshark_reads_every_packet_and_reports_none_as_malformed(tussle_, tshark: str, lossy: Path) -> None:
    """Each flow sends its data, one SYN and the last packet of the handshake."""
    rows = fields(tshark, export(tussle_, lossy), "ip.src", "tcp.len", "_ws.malformed", "frame.time_epoch")
    sent = tussle.open(lossy).flows.collect()["sent_packets"].to_list()
    for flow, packets in enumerate(sent):
        data = [row for row in rows if row[0] == f"10.1.0.{flow + 1}" and row[1] != "0"]
        assert len(data) == packets
        assert len([row for row in rows if row[0] == f"10.1.0.{flow + 1}"]) == packets + 2
    assert {row[2] for row in rows} == {""}
    times = [row[3] for row in rows]
    assert times == sorted(times, key=float)
    assert times[0] == "0.000000000"


def test_tshark_finds_the_retransmissions_that_were_recorded(tussle_, tshark: str, lossy: Path) -> None:
    again = ("retransmission", "fast_retransmission", "spurious_retransmission", "out_of_order")
    names = [f"tcp.analysis.{name}" for name in again]
    rows = fields(tshark, export(tussle_, lossy), "ip.src", *names)
    flows = tussle.open(lossy).flows.collect()
    assert flows["retransmitted_packets"].sum() > 10
    for flow, retransmitted in enumerate(flows["retransmitted_packets"].to_list()):
        found = [row for row in rows if row[0] == f"10.1.0.{flow + 1}" and any(row[1:])]
        assert len(found) == retransmitted


def test_the_last_byte_and_the_fin_are_acknowledged(tussle_, tshark: str, lossy: Path) -> None:
    """The SYN, 1 000 001 bytes and the FIN are acknowledged: 1 + 1 000 001 + 1."""
    rows = fields(tshark, export(tussle_, lossy), "ip.src", "tcp.ack", "tcp.seq", "tcp.len", "tcp.flags.fin")
    assert max(int(row[1]) for row in rows if row[0] == "10.2.0.1") == 1_000_003
    (fin,) = {(int(row[2]), int(row[3])) for row in rows if row[0] == "10.1.0.1" and row[4] in ("1", "True")}
    assert sum(fin) == 1_000_002


def test_only_a_completed_transfer_ends_with_psh_and_fin(tussle_, tshark: str, lossy: Path) -> None:
    """Flow a has a size and ends, flow b goes on to the end of the run."""
    rows = fields(tshark, export(tussle_, lossy), "ip.src", "tcp.flags.fin", "tcp.flags.push")
    yes = ("1", "True")
    assert {(row[0], row[2] in yes) for row in rows if row[1] in yes} == {("10.1.0.1", True)}
    assert {row[0] for row in rows if row[2] in yes} == {"10.1.0.1"}


def test_no_flow_has_a_network_or_broadcast_address() -> None:
    """The first of 256 addresses is the network, the last its broadcast, so flow 254 is in the next."""
    addresses = [".".join(map(str, _addresses(flow)[0])) for flow in (0, 253, 254, 599)]
    assert addresses == ["10.1.0.1", "10.1.0.254", "10.1.1.1", "10.1.2.92"]
    every = {address for flow in range(600) for address in _addresses(flow)}
    assert len(every) == 1200
    assert not {address[-1] for address in every} & {0, 255}


def test_tshark_measures_the_round_trip_times_of_the_dataset(tussle_, tshark: str, lossy: Path) -> None:
    """tshark times each ACK from the data that it acknowledges, as the sender does but for delayed ACKs."""
    rows = fields(tshark, export(tussle_, lossy), "ip.dst", "tcp.analysis.ack_rtt", "frame.time_epoch")
    data = tussle.open(lossy)
    steady = data.runs.select("steady_from_s", "steady_to_s").collect().row(0)
    measured = data.flows.filter(pl.col("name") == "b").select("rtt_p50_ms").collect().item()
    rtts = [
        float(row[1]) * 1e3
        for row in rows
        if row[0] == "10.1.0.2" and row[1] and steady[0] <= float(row[2]) < steady[1]
    ]
    assert min(rtts) >= 40
    assert statistics.median(rtts) == pytest.approx(measured, rel=0.1)


def test_sack_blocks_cover_the_data_received_out_of_order(tussle_, tshark: str, lossy: Path) -> None:
    rows = fields(tshark, export(tussle_, lossy), "tcp.ack", "tcp.options.sack_le", "tcp.options.sack_re")
    blocks = [(int(row[0]), row[1].split(","), row[2].split(",")) for row in rows if row[1]]
    assert blocks
    for acknowledged, starts, ends in blocks:
        for start, end in zip(map(int, starts), map(int, ends), strict=True):
            assert (end - start) % SEGMENT_BYTES == 0 or end in {1_000_002, 1_000_003}
            assert start > acknowledged or end <= acknowledged


def test_tshark_sees_ce_marks_and_ecn_echo(tussle_, tshark: str, tmp_path: Path) -> None:
    sweep(Scenario.from_dict(MARKED), tmp_path / "marked", SweepSettings(workers=1))
    capture = export(tussle_, tmp_path / "marked", "--at", "receiver")
    rows = fields(tshark, capture, "ip.src", "ip.dsfield.ecn", "tcp.flags.ece")
    marked = [row for row in rows if row[0] == "10.1.0.1" and row[1] == "3"]
    echoed = [row for row in rows if row[0] == "10.2.0.1" and row[2] in ("1", "True")]
    assert marked
    assert echoed


def test_the_window_is_scaled(tussle_, tshark: str, lossy: Path) -> None:
    rows = fields(tshark, export(tussle_, lossy), "ip.src", "tcp.window_size", "tcp.flags.syn")
    windows = [int(row[1]) for row in rows if row[0] == "10.2.0.2" and row[2] in ("0", "False")]
    assert min(windows) >= 60_000
    assert max(windows) > 65_535


def test_an_unknown_run_is_refused(tussle_, lossy: Path) -> None:
    answer = tussle_("export", lossy, "packets", "--run", 7)
    assert answer.status != 0
    assert "has no run 7; its runs are 0 to 0 (--run)" in answer.problems
    assert not Path("packets.pcapng").exists()


def test_an_unknown_capture_side_is_refused(tussle_, lossy: Path) -> None:
    assert "--at: " in tussle_("export", lossy, "packets", "--at", "middle").problems


def test_the_table_export_refuses_packets(tussle_, lossy: Path) -> None:
    answer = tussle_("export", lossy, "packets", "--format", "csv")
    assert "packets can be exported as pcapng, not as csv" in answer.problems


def test_a_dataset_that_the_simulator_does_not_reproduce_is_refused(
    tussle_, lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The dataset is from another version of the simulator, in which other packets were lost."""
    as_it_is = SimEngine.capture
    monkeypatch.setattr(SimEngine, "capture", lambda self, run: as_it_is(self, {**run, "seed": 7}))
    assert "has other results with this version" in tussle_("export", lossy, "packets").problems


OWN = """
class Mine:
    def on_start(self, flow, control):
        open("executed", "w").close()
"""


def test_the_python_file_of_a_dataset_is_executed_only_on_request_and_if_unchanged(
    tussle_, tmp_path: Path
) -> None:
    file, executed = tmp_path / "mine.py", tmp_path / "executed"
    file.write_text(OWN)
    flows = [{"algorithm": f"{file}:Mine"}]
    path = {"rate": "10 Mbit/s", "rtt": "20 ms"}
    sweep(
        Scenario.from_dict({"duration": "1 s", "repetitions": 1, "path": path, "flows": flows}),
        tmp_path / "data",
        SweepSettings(workers=1),
    )
    executed.unlink()
    refused = tussle_("export", "data", "packets")
    assert "add --execute-algorithms if you trust it" in refused.problems
    file.write_text(f"{OWN}# changed")
    refused = tussle_("export", "data", "packets", "--execute-algorithms")
    assert "is not the file that the dataset was made with" in refused.problems
    assert not executed.exists()
    file.write_text(OWN)
    assert tussle_("export", "data", "packets", "--execute-algorithms").status == 0
    assert executed.exists()


def test_an_export_with_too_many_packets_is_refused(
    tussle_, lossy: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("tussle.engines.sim.MAX_PACKETS", 100)
    answer = tussle_("export", lossy, "packets")
    assert "more than 100 packets" in answer.problems
    assert not Path("packets.pcapng").exists()


def test_packets_without_timestamps_have_shorter_headers(tshark, tussle_, tmp_path):
    folder = tmp_path / "off"
    sweep(Scenario.from_dict(LOSSY | {"hosts": {"timestamps": "off"}}), folder, SweepSettings(workers=1))
    names = ("ip.len", "tcp.hdr_len", "tcp.len", "tcp.options.timestamp.tsval", "_ws.malformed")
    packets = fields(tshark, export(tussle_, folder), *names)
    assert all(stamp == malformed == "" for *_, stamp, malformed in packets)
    assert all(int(ip) == 20 + int(header) + int(payload) for ip, header, payload, *_ in packets)
    assert max(int(payload) for _, _, payload, *_ in packets) == 1460
