"""False reports of clients with the code to `tussle serve`: other clients are still measured."""

import shutil
import socket
import time
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pytest

import tussle
from impostor import DOWN, UP, Client, exactly, probe, receiver, sender
from joined import Server, finished, sending, serving

U32, U64 = 2**32 - 1, 2**64 - 1
MOST_BYTES = 2**60
"""The largest number of bytes that the server accepts in a claim."""

FAR_OFF = {"offset_s": 1e300, "error_s": 0.0}
UPLOADED: dict[str, Callable[[Client, int], None]] = {
    "delivery rate": lambda liar, at: liar.report([(at, sender(delivery_bytes_per_s=U64))]),
    "pacing rate": lambda liar, at: liar.report([(at, sender(pacing_bytes_per_s=U64 - 1))]),
    "acknowledged": lambda liar, at: liar.report([(at, sender(bytes_acked=U64))]),
    "RTT": lambda liar, at: liar.report([(at, sender(rtt_us=U32))]),
    "kind": lambda liar, at: liar.report([(at, receiver(10**12))]),
    "probe": lambda liar, at: liar.report([(at, probe(U32))]),
    "idle": lambda liar, _: liar.report_idle(U32),
    "flow": lambda liar, at: liar.report([(at, sender())], flow=7),
    "twice": lambda liar, at: liar.report([(at, sender()), (at, sender())]),
    "clock": lambda liar, _: liar.report_validity(clock=FAR_OFF),
    "name": lambda liar, _: liar.report_validity(host="\x1b[2J"),
    "text": lambda liar, _: liar.send(b"\3\0\1x"),
    "noise": lambda liar, _: liar.send(bytes(range(255, 55, -1))),
    "more noise": lambda liar, _: liar.send(b"\2\1" + bytes(range(100, 200))),
}


@pytest.fixture(scope="module")
def after_lies(tmp_path_factory):
    """A server's dataset after false reports about uploads and downloads, and one honest client."""
    folder = tmp_path_factory.mktemp("claims") / "out"
    with serving(None, folder, clients=len(UPLOADED) + 3) as server:
        honest = sending(None, server, for_s=60)
        server.until_sends(1)
        for report in UPLOADED.values():
            lie(server, UP, report)
        lie(server, DOWN, lambda liar, at: liar.report([(at, receiver(U64, U32))]))
        lie(server, DOWN, lambda liar, at: liar.report([(at, sender())]))
        assert honest.stdin
        honest.stdin.close()
        ended = finished(honest)
        dataset = server.dataset()
    return ended, dataset


def lie(server: Server, direction: int, report: Callable[[Client, int], None]) -> None:
    with Client(server.at, server.code, direction=direction) as liar:
        flow = liar.open_flow()
        if direction == UP:
            flow.sendall(bytes(10_000))
        report(liar, liar.server_instant() + 1)
        liar.wait_for_close()


def test_a_client_with_impossible_claims_is_disconnected_alone(after_lies):
    ended, dataset = after_lies
    assert ended["how"] == "interrupted"
    lost = dataset.events.filter(kind="disconnect").collect()["flow"].to_list()
    flows = dataset.flows.collect()
    assert flows["name"][0] == "client-1"
    assert lost == list(range(1, len(flows)))


def test_clients_with_impossible_claims_are_reported_to_the_operator(after_lies):
    _, dataset = after_lies
    rejected = dataset.provenance["served"]["rejected"]
    assert len(rejected) == len(UPLOADED) + 2
    assert rejected[0] == (
        "client 2 (127.0.0.1) violated the protocol: a delivery rate in bytes/s of 18446744073709551615"
    )
    assert rejected[4].endswith("the counters of a receiver, from a sender")
    assert all(sentence.isprintable() for sentence in rejected)


def test_false_claims_do_not_change_the_results_of_an_honest_client(after_lies):
    ended, dataset = after_lies
    flow = dataset.flows.collect().row(0, named=True)
    # Acknowledged were its opening, its first packet and its last, too.
    assert flow["delivered_bytes"] == ended["live"]["total_bytes"] - 26


@pytest.mark.parametrize("claimed", [500_000_000, MOST_BYTES])
def test_the_result_is_the_servers_observation_beside_the_claim(claimed, tmp_path):
    with serving(None, tmp_path / "out", clients=1) as server:
        with Client(server.at, server.code) as liar:
            flow = liar.open_flow()
            flow.sendall(bytes(10_000))
            at = liar.server_instant() + 2
            liar.report([(at + ahead, sender(bytes_acked=claimed, data_segs_out=99)) for ahead in range(5)])
            liar.report_validity()
            until_reached(liar, at + 5)
            flow.shutdown(socket.SHUT_WR)
            flow.recv(1)
            liar.finish()
        dataset = server.dataset()
    row = dataset.flows.collect().row(0, named=True)
    assert row["delivered_bytes"] == 10_000
    assert row["goodput_bit_per_s"] < 8 * 10_000 / 0.1 + 1
    samples = dataset.samples.collect()
    assert set(samples["delivered_bytes"]) == {10_000}
    assert set(samples["client.claimed_bytes"]) == {float(claimed)}
    [sentence] = dataset.provenance["contradictions"]
    assert sentence == (
        f"client-1: its client claims that {claimed} bytes were acknowledged, and 10000 arrived; "
        "the server's observation counts"
    )


def test_a_clients_claims_do_not_enlarge_its_download(tmp_path):
    claimed = 500_000_000
    with serving(None, tmp_path / "out", clients=1) as server:
        with Client(server.at, server.code, direction=DOWN, bytes=20_000) as liar:
            flow = liar.open_flow()
            exactly(flow, 20_000)
            at = liar.server_instant() + 1
            liar.report([(at, receiver(claimed, claimed))])
            until_reached(liar, at + 1)
            flow.shutdown(socket.SHUT_WR)
            liar.finish()
        dataset = server.dataset()
    row = dataset.flows.collect().row(0, named=True)
    assert row["delivered_bytes"] == 20_000
    assert 0 <= row["dropped_packets"] <= row["sent_packets"]
    assert dataset.samples.select(pl.col("delivered_bytes").max()).collect().item() <= 20_000
    [sentence] = dataset.provenance["contradictions"]
    assert "claims that 500000000 bytes arrived, and 20000 were sent" in sentence


def test_honest_clients_are_not_contradicted(tmp_path):
    with serving(None, tmp_path / "out", clients=4) as server:
        for direction in ("up", "down"):
            finished(sending(None, server, direction=direction, flows=2, for_s=1))
            finished(sending(None, server, direction=direction, bytes=3_000_000))
        dataset = server.dataset()
    assert "contradictions" not in dataset.provenance
    assert dataset.provenance["served"]["rejected"] == []
    complete = dataset.flows.filter(pl.col("completion_s").is_not_null()).collect()
    assert set(complete["delivered_bytes"]) == {3_000_000}


def until_reached(client: Client, instant: int) -> None:
    """Wait until the server's clock reaches this time."""
    while client.server_instant() < instant:
        time.sleep(0.05)


def of_earlier_version(partial: Path, flow: int, change: dict[str, pl.Expr]) -> None:
    """Change a flow's samples as a server that checked nothing would have written them."""
    for chunk in partial.glob("samples-*.arrow"):
        table = pl.read_ipc_stream(chunk)
        of_flow = pl.col("flow") == flow
        table.with_columns(
            pl.when(of_flow).then(value).otherwise(pl.col(name)).cast(table.schema[name]).alias(name)
            for name, value in change.items()
        ).write_ipc_stream(chunk)


BAD = {
    "bytes": ({"delivered_bytes": pl.lit(U64, pl.UInt64)}, "18446744073709551615 bytes cannot have arrived"),
    "rate": (
        {"delivered_bytes": pl.col("delivered_bytes") + 10**12 * (pl.col("time_s") * 10).cast(pl.UInt64)},
        "bytes at once are more than 400 Gbit/s",
    ),
    "rtt": ({"srtt_ms": pl.lit(4.2e6)}, "a round trip cannot take 4200 s"),
    "back": (
        {"delivered_bytes": pl.lit(10**9, pl.UInt64) - (pl.col("time_s") * 10).cast(pl.UInt64)},
        "the delivered bytes decrease",
    ),
    "time": ({"time_s": pl.col("time_s") + 1e8}, "when the flow did not exist"),
    "figure": ({"tcp_info.acked_bytes": pl.lit(float("inf"))}, "tcp_info.acked_bytes cannot be inf"),
}


@pytest.fixture(scope="module")
def received(tmp_path_factory):
    """The files that a server wrote about two honest clients before it was killed."""
    folder = tmp_path_factory.mktemp("received")
    with serving(None, folder / "out", clients=2) as server:
        for _ in range(2):
            finished(sending(None, server, for_s=1))
        server.wait()
    return folder / "out.partial"


@pytest.fixture
def partial(received, tmp_path):
    """A copy of the files that a server wrote, for `--finish -o out`."""
    return Path(shutil.copytree(received, tmp_path / "out.partial"))


@pytest.mark.parametrize("defect", BAD)
def test_a_flow_with_bad_rows_is_left_out_and_the_rest_is_finished(defect, partial, tmp_path, tussle_):
    change, reason = BAD[defect]
    of_earlier_version(partial, 1, change)
    answer = tussle_("serve", "--finish", "-o", tmp_path / "out")
    assert answer.status == 0, answer.problems
    dataset = tussle.open(tmp_path / "out")
    assert dataset.flows.collect()["name"].to_list() == ["client-1"]
    [sentence] = dataset.provenance["left_out"]
    assert sentence.startswith("client-2 is left out: ")
    assert reason in sentence
    assert sentence in answer.out


def test_a_damaged_file_of_samples_is_left_out_and_the_rest_is_finished(partial, tmp_path, tussle_):
    """As after a power cut: the latest file is empty."""
    latest = max(partial.glob("samples-*.arrow"))
    latest.write_bytes(b"")
    answer = tussle_("serve", "--finish", "-o", tmp_path / "out")
    assert answer.status == 0, answer.problems
    dataset = tussle.open(tmp_path / "out")
    [sentence] = dataset.provenance["left_out"]
    assert sentence.startswith(f"{latest.name} is left out: it is damaged")
    assert sentence in answer.out
    assert dataset.flows.collect()["name"].to_list() == ["client-1", "client-2"]
    assert dataset.samples.collect().height > 0


def test_a_flow_that_has_just_started_does_not_prevent_the_dataset_of_the_others(partial, tmp_path, tussle_):
    """The server was killed before the first row of its second flow."""
    for chunk in partial.glob("samples-*.arrow"):
        pl.read_ipc_stream(chunk).filter(pl.col("flow") == 0).write_ipc_stream(chunk)
    nothing_yet = [pl.lit(None, pl.Float64).alias(name) for name in ("end_s", "complete_s")]
    flows = pl.read_ipc_stream(partial / "flows.arrow")
    pl.concat([flows.head(1), flows.tail(1).with_columns(nothing_yet)]).write_ipc_stream(
        partial / "flows.arrow"
    )
    answer = tussle_("serve", "--finish", "-o", tmp_path / "out")
    assert answer.status == 0, answer.problems
    assert tussle.open(tmp_path / "out").flows.collect()["name"].to_list() == ["client-1", "client-2"]


def test_a_dataset_without_plausible_flows_is_refused(partial, tmp_path, tussle_):
    for flow in (0, 1):
        of_earlier_version(partial, flow, BAD["rtt"][0])
    answer = tussle_("serve", "--finish", "-o", tmp_path / "out")
    assert answer.status == 2
    assert "contains no flow that can be measured: client-1 is left out" in answer.problems
