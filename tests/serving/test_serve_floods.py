"""Floods from many addresses at `tussle serve`, and clients with incomplete preambles."""

import contextlib
import json
import socket
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from impostor import UP, Client, probe
from joined import Server, finished, sending, serving, started

FLOWS = 32
CLIENTS = 40
"""With 32 flows each they leave 1280 flows behind."""
MOST_GROWN_BYTES = 5_000_000
"""Half of what the claims of so many take that wait for what the server saw."""


@contextlib.contextmanager
def crowd(server: Server, addresses: int, kind: str) -> Iterator[None]:
    """Open connections from this many addresses until the end of the test."""
    program = str(Path(__file__).parent.parent / "support" / "crowd.py")
    come = started(sys.executable, program, *server.at.split(":"), str(addresses), kind)
    assert come.stdout
    assert come.stdout.readline()
    try:
        yield
    finally:
        come.kill()
        come.communicate()


@pytest.mark.parametrize(
    ("addresses", "kind"), [(128, "waits"), (40, "joins"), (1000, "joins"), (1000, "waits")]
)
def test_many_addresses_do_not_shut_out_a_client(addresses, kind, tmp_path):
    joins = 5
    with serving(None, tmp_path / "out", clients=joins) as server:
        with crowd(server, addresses, kind):
            for _ in range(joins):
                end = finished(sending(None, server, bytes=1_000_000))
                assert (end["how"], end["cut_off"]) == ("done", 0)
        dataset = server.dataset()
    flows = dataset.flows.collect()
    assert flows["name"].to_list() == [f"client-{number}" for number in range(1, joins + 1)]
    assert set(flows["delivered_bytes"]) == {1_000_000}


def test_a_crowd_does_not_drive_out_the_highest_address(tmp_path):
    """Each address has one connection, so that the oldest connection is closed.

    The client's flow waits as long as hundreds of connections take to arrive.
    """
    joins = 5
    with serving(None, tmp_path / "out", clients=joins) as server:
        with crowd(server, 128, "waits"):
            for _ in range(joins):
                with Client(server.at, server.code, source="127.250.0.1") as client:
                    flow = client.open_flow(pause_s=0.2)
                    flow.sendall(bytes(1000))
                    flow.shutdown(socket.SHUT_WR)
                    assert flow.recv(1) == b""
                    client.finish()
        ended = json.loads(server.wait().splitlines()[-1])["end"]
    assert ended["clients"] == joins


def test_incomplete_preambles_leave_no_memory_behind(tmp_path):
    """Each client probes beside each flow without sending the flow, then leaves, and others join."""
    with serving(None, tmp_path / "out", clients=CLIENTS + 2) as server:
        leave_behind(server)
        before = resident_bytes(server.process.pid)
        for _ in range(CLIENTS):
            leave_behind(server)
        grown = resident_bytes(server.process.pid) - before
        end = finished(sending(None, server, bytes=1_000_000))
        dataset = server.dataset()
    assert end["how"] == "done"
    assert grown < MOST_GROWN_BYTES
    assert dataset.flows.collect().row(-1, named=True)["delivered_bytes"] == 1_000_000


def leave_behind(server: Server) -> None:
    with Client(server.at, server.code, direction=UP, flows=FLOWS) as liar:
        for index in range(FLOWS):
            liar.open_flow(index).sendall(bytes(100))
        first = liar.server_instant() + 5
        for index in range(FLOWS):
            liar.report([(instant, probe(1000)) for instant in range(first, first + 40)], flow=index)
        liar.finish()


def resident_bytes(process: int) -> int:
    for line in Path(f"/proc/{process}/status").read_text().splitlines():
        if line.startswith("VmRSS:"):
            return int(line.split()[1]) * 1000
    raise AssertionError("the process is gone")
