"""Hosts that join a measurement: namespaces of this test with a shaped link between them."""

import json
import os
import re
import signal
import socket
import subprocess
import sys
import time
from pathlib import Path

import pytest

import tussle
from commandline import refused
from joined import (
    RATE_BIT_PER_S,
    TUSSLE,
    Network,
    failed,
    finished,
    in_namespace,
    sending,
    serve_command,
    serving,
    until_written,
)
from tussle.errors import TussleError
from tussle.serving import holding, place

GOODPUT_BIT_PER_S = RATE_BIT_PER_S * 1448 / 1514
"""What arrives of the link's rate: tbf counts the headers, and those of Ethernet."""
GONE = (
    "the server or the network is lost; the server keeps what it has recorded; the same command joins again\n"
)


@pytest.fixture(scope="module")
def network():
    with Network(clients=3) as made:
        yield made


def test_three_algorithms_on_one_link_are_distinguished(network, tmp_path):
    chosen = ["reno", "cubic", "bbr"]
    with serve_command(network.server, tmp_path / "out", "--clients", "3") as server:
        words = [TUSSLE, "send", server.at, "--code", server.code, "--for", "4 s", "--algorithm"]
        clients = [
            in_namespace(namespace, *words, name)
            for namespace, name in zip(network.clients, chosen, strict=True)
        ]
        outputs = [client.communicate(timeout=60) for client in clients]
        out = server.wait()
    for name, (sentence, problems) in zip(chosen, outputs, strict=True):
        assert f", {name}: " in sentence, problems
    assert "clients: 3" in out
    assert (tmp_path / "out" / "report.html").exists()
    dataset = tussle.open(tmp_path / "out")
    flows = dataset.flows.collect()
    assert sorted(flows["algorithm"]) == sorted(chosen)
    together = flows["goodput_bit_per_s"].sum()
    assert 0.7 * GOODPUT_BIT_PER_S < together < 1.02 * GOODPUT_BIT_PER_S
    validity = dataset.table("validity").collect()
    assert validity["algorithm"].to_list() == flows["algorithm"].to_list()
    assert set(validity["kernel"]) == {os.uname().release}
    assert set(validity["path_mtu_bytes"]) == {1500}
    assert set(validity["interface"]) == {"net"}
    # Both ends have one clock here.
    assert (validity["clock_offset_s"].abs() <= validity["clock_offset_error_s"]).all()


def test_a_queue_shows_in_the_probe(network, tmp_path):
    """CUBIC fills the queue of 100 kB, which takes 40 ms at 20 Mbit/s; before, the queue is empty."""
    with serving(network.server, tmp_path / "out", clients=1) as server:
        finished(sending(network.clients[0], server, algorithm="cubic", for_s=2))
        samples = server.dataset().samples.collect()
    [idle_ms] = set(samples["probe.idle_rtt_ms"])
    loaded_ms = sorted(samples["probe.rtt_ms"].drop_nulls())
    assert loaded_ms[len(loaded_ms) * 9 // 10] > idle_ms + 10


def test_the_options_bytes_parallel_and_reverse_take_effect(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=1) as server:
        options = {"direction": "down", "flows": 4, "bytes": 500_000}
        assert finished(sending(network.clients[0], server, **options))["live"]["total_bytes"] == 2_000_000
        dataset = server.dataset()
    flows = dataset.flows.collect()
    assert flows["name"].to_list() == [f"client-1.{number}" for number in range(1, 5)]
    assert set(flows["delivered_bytes"]) == {500_000}
    assert flows["completion_s"].null_count() == 0
    assert set(flows["algorithm"]) == {"reno"}
    assert {flow.direction for flow in dataset.scenario.flows} == {"reverse"}
    assert dataset.table("validity").collect()["clock_offset_s"].null_count() == 0
    assert dataset.events.filter(kind="complete").collect().height == 4


def test_a_killed_client_costs_its_own_flow_only(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=2) as server:
        doomed = sending(network.clients[0], server)
        server.until_sends(1)
        other = sending(network.clients[1], server, for_s=1)
        server.until_sends(2)
        doomed.kill()
        doomed.communicate()
        finished(other)
        dataset = server.dataset()
    assert dataset.events.filter(kind="disconnect").collect()["flow"].to_list() == [0]
    # What it reported before is kept, and the other sent to its end.
    samples = dataset.samples.group_by("flow").len().sort("flow").collect()
    assert samples["flow"].to_list() == [0, 1]
    assert (dataset.flows.collect()["delivered_bytes"] > 0).all()


def test_flows_continue_after_an_interruption_of_the_link(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=1) as server:
        client = sending(network.clients[0], server, algorithm="cubic", for_s=4)
        server.until_sends(1)
        network.cable(0, "down")
        time.sleep(1)
        network.cable(0, "up")
        finished(client)
        dataset = server.dataset()
    [timeouts] = dataset.flows.collect()["timeouts"]
    assert timeouts > 0
    assert dataset.events.filter(kind="disconnect").collect().is_empty()


def test_a_client_cut_off_for_too_long_is_disconnected_and_may_join_again(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=2, patience_s=3) as server:
        client = sending(network.clients[0], server)
        server.until_sends(1)
        network.cable(0, "down")
        assert failed(client) == GONE
        network.cable(0, "up")
        finished(sending(network.clients[0], server, for_s=1))
        dataset = server.dataset()
    assert dataset.flows.collect()["name"].to_list() == ["client-1", "client-2"]
    # Nobody sent in between: each is a run of its own, and measured over its own time.
    assert dataset.runs.collect()["turn"].to_list() == ["1", "2"]
    assert dataset.flows.collect()["run"].to_list() == [0, 1]
    assert dataset.events.filter(kind="disconnect").collect()["flow"].to_list() == [0]


def test_unauthenticated_connections_do_not_disturb_clients(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=1) as server:
        client = sending(network.clients[0], server, algorithm="cubic", for_s=60)
        server.until_sends(1)
        flood = str(Path(__file__).parent.parent / "support" / "strangers.py")
        command = [sys.executable, flood, *server.at.split(":")]
        flooding = in_namespace(network.clients[1], *command)
        _, problems = flooding.communicate(timeout=60)
        assert flooding.returncode == 0, problems
        ended(client)
        dataset = server.dataset()
    served = dataset.provenance["served"]
    assert served["clients"] == 1
    assert {"not of Tussle's protocol", "with a wrong ticket", "too many at once", "too often"} <= set(
        served["refused"]
    )
    assert sum(served["refused"].values()) > 300
    [flow] = dataset.flows.collect().to_dicts()
    assert flow["goodput_bit_per_s"] > 0.6 * GOODPUT_BIT_PER_S


def ended(client: subprocess.Popen[str]) -> None:
    """Interrupt a client's agent, like Ctrl-C."""
    assert client.stdin
    client.stdin.close()
    assert finished(client)["how"] == "interrupted"


def test_an_interrupted_download_ends(network, tmp_path):
    with serving(network.server, tmp_path / "out", clients=1) as server:
        client = sending(network.clients[0], server, direction="down", flows=2)
        server.until_sends(1)
        ended(client)
        dataset = server.dataset()
    assert dataset.events.filter(kind="disconnect").collect().is_empty()
    assert (dataset.flows.collect()["delivered_bytes"] > 0).all()


def test_a_client_with_another_code_is_refused(network, tmp_path):
    with serving(network.server, tmp_path / "out") as server:
        client = sending(network.clients[0], server, code="0000-0000-0000-0000-0000")
        assert "refuses the code" in failed(client)
        [*_, last] = server.wait().splitlines()
    assert json.loads(last)["end"] == {
        "clients": 0,
        "refused": {"with a wrong code": 1},
        "full": False,
        "rejected": [],
    }


def test_an_interrupted_server_leaves_a_complete_dataset(network, tmp_path):
    with serve_command(network.server, tmp_path / "out") as server:
        client = sending(network.clients[0], server)
        until_written(tmp_path / "out.partial" / "samples-000000.arrow")
        server.process.send_signal(signal.SIGINT)
        assert finished(client)["how"] == "over"
        assert "report: " in server.wait()
    dataset = tussle.open(tmp_path / "out")
    assert dataset.events.filter(kind="disconnect").collect().is_empty()
    [flow] = dataset.flows.collect().to_dicts()
    assert flow["delivered_bytes"] > 0


def test_the_files_of_a_killed_server_become_a_dataset(network, tmp_path, tussle_):
    with serving(network.server, tmp_path / "out") as server:
        client = sending(network.clients[0], server)
        until_written(tmp_path / "out.partial" / "samples-000000.arrow")
        server.process.kill()
        assert failed(client) == GONE
    assert not (tmp_path / "out").exists()
    answer = tussle_("serve", "-o", tmp_path / "out")
    assert "tussle serve --finish" in refused(answer)
    assert tussle_("serve", "--finish", "-o", tmp_path / "out").status == 0
    [flow] = tussle.open(tmp_path / "out").flows.collect().to_dicts()
    assert flow["delivered_bytes"] > 0
    assert not (tmp_path / "out.partial").exists()


def test_a_server_listens_on_loopback_by_default(tmp_path):
    words = [TUSSLE, "serve", "--port", "0", "--for", "0.1 s", "-o", str(tmp_path / "out")]
    done = subprocess.run(words, capture_output=True, text=True, check=True)
    assert "tussle send 127.0.0.1:" in done.stdout
    assert "only this machine can join" in done.stdout
    assert "no client sent anything" in done.stdout
    assert list(tmp_path.iterdir()) == []


def test_an_algorithm_restricted_to_root_is_explained():
    """The agent runs as a user who cannot read this folder, so the program file is opened before."""
    sysctls = Path("/proc/sys/net/ipv4")
    names = {
        which: set((sysctls / f"tcp_{which}_congestion_control").read_text().split())
        for which in ("available", "allowed")
    }
    restricted = sorted(names["available"] - names["allowed"])
    if os.geteuid() != 0 or not restricted:
        pytest.skip("it takes root to be another user, and an algorithm that only root may use")
    settings = {
        "to": ["127.0.0.1:9"],
        "code": "0000-0000-0000-0000-0000",
        "algorithm": restricted[0],
        "flows": 1,
        "direction": "up",
        "for_ns": 1,
        "bytes": None,
    }
    agent = Path(tussle.__file__).parent / "_agent"
    with agent.open("rb") as program:
        done = subprocess.run(
            [f"/proc/self/fd/{program.fileno()}", "send"],
            input=json.dumps(settings) + "\n",
            pass_fds=[program.fileno()],
            user=65534,
            capture_output=True,
            text=True,
            check=False,
        )
    assert done.returncode == 2
    allowed = " ".join(sorted(names["allowed"]))
    assert f'sudo sysctl net.ipv4.tcp_allowed_congestion_control="{allowed} {restricted[0]}"' in done.stderr


def test_the_files_of_a_server_are_private(tussle_, tmp_path):
    with holding(tmp_path / "out"):
        for words in (("serve",), ("serve", "--finish")):
            sentence = refused(tussle_(*words, "-o", tmp_path / "out"))
            assert sentence.startswith(f"another process is writing {tmp_path / 'out.partial'}; wait for it")
    assert list(tmp_path.iterdir()) == []
    assert "contains no flow" in refused(tussle_("serve", "--finish", "-o", tmp_path / "out"))
    assert list(tmp_path.iterdir()) == []


@pytest.mark.parametrize(
    ("written", "meant"),
    [
        ("laptop", "laptop:5210"),
        ("192.0.2.7:99", "192.0.2.7:99"),
        ("2001:db8::7", "[2001:db8::7]:5210"),
        ("[2001:db8::7]:99", "[2001:db8::7]:99"),
    ],
)
def test_a_server_address_has_the_usual_forms_of_host_and_port(written, meant):
    assert str(place(written)) == meant


@pytest.mark.parametrize("written", ["", ":99", "laptop:", "laptop:65536", "[2001:db8::7", "[2001:db8::7]99"])
def test_an_invalid_host_or_port_is_refused(written):
    with pytest.raises(TussleError, match=re.escape(json.dumps(written))):
        place(written)


SEND = ("send", "localhost", "--code", "12", "--algorithm")


@pytest.mark.parametrize(
    ("words", "sentence"),
    [
        (
            ("serve", "--listen", "everywhere"),
            '--listen: "everywhere" is not an IP address; give one of this machine, or 0.0.0.0 for all',
        ),
        (("serve", "--listen", "192.0.2.1"), "--listen: 192.0.2.1 is no address of this machine"),
        (("serve", "--for", "0 s"), "--for: 0 s is too short; give at least 0.1 s"),
        (("serve", "--patience", "1 s"), "--patience: 1 s is too short; give at least 3 s"),
        (
            (*SEND, "reno"),
            "--code: the code has 2 letters and digits; a code has 20, in groups of four",
        ),
        ((*SEND, "vega"), '--algorithm: unknown algorithm "vega"; did you mean "vegas"?'),
        ((*SEND, "reno", "--bytes", "0 B"), "--bytes: 0 B is too small; give at least 1 B"),
        (
            ("send", "localhost:0", "--code", "12"),
            '"localhost:0": "0" is not a port; give one from 1 to 65535',
        ),
    ],
)
def test_a_mistake_is_reported_in_one_sentence(tussle_, words, sentence):
    assert refused(tussle_(*words)) == sentence


def test_a_missing_server_is_reported(tussle_):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        port = taken.getsockname()[1]
        code = "0000-0000-0000-0000-0000"
        answer = tussle_("send", f"127.0.0.1:{port}", "--code", code, "--algorithm", "reno")
    assert refused(answer) == f"127.0.0.1:{port}: nothing listens at this address; is `tussle serve` running?"
