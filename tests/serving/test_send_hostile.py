"""`tussle send` with a hostile server: the clock, the limits and Ctrl-C of the client."""

import signal
import socket
import subprocess
import threading
from typing import Any

import pytest

from impostor import ALIVE, CODE, Channel, Host, acknowledge, refusal, send_forever
from joined import TUSSLE, Server, failed, finished, sending, started

_TIMEOUT_S = 20.0
"""For what must happen; how long it took is nobody's business."""
INTERRUPTED = 130


def joining(host: Host, **others: Any) -> subprocess.Popen[str]:
    """Start a client's agent at that host."""
    at = Server(process=None, folder=None, at=host.at, code=CODE)  # pyright: ignore[reportArgumentType]
    return sending(None, at, **others)


def send_command(host: Host, *options: str) -> subprocess.Popen[str]:
    """Start the command."""
    return started(TUSSLE, "send", host.at, "--code", CODE, "--algorithm", "reno", *options)


def ended(client: subprocess.Popen[str]) -> tuple[int, str, str]:
    out, problems = client.communicate(timeout=_TIMEOUT_S)
    return client.returncode, out, problems


def test_control_characters_in_a_refusal_do_not_reach_the_terminal():
    words = "\x1b]0;owned\x07\x1b[2Jfull\r\ntussle: all is well\u202e"
    with Host(on_join=lambda _host, channel: channel.send(refusal(words))) as host:
        status, out, problems = ended(send_command(host))
    assert (status, out) == (2, "")
    [line] = problems.splitlines()
    assert line.isprintable()
    assert line.startswith(f"tussle: {host.at} refuses: ")
    assert "full" in line


def test_one_interrupt_ends_a_client_that_waits_for_a_grant():
    def wait(host: Host, channel: Channel) -> None:
        host.reported.set()
        channel.receive()

    with Host(on_join=wait) as host:
        client = send_command(host)
        assert host.reported.wait(_TIMEOUT_S)
        client.send_signal(signal.SIGINT)
        status, _, problems = ended(client)
    assert status == INTERRUPTED
    assert problems == "tussle: interrupted before joining\n"


@pytest.mark.parametrize("direction", [[], ["--reverse"]])
def test_one_interrupt_ends_a_client_that_its_server_would_hold(direction):
    with Host(flow=send_forever if direction else _holding) as host:
        client = send_command(host, "--for", "1 h", *direction)
        assert host.reported.wait(_TIMEOUT_S)
        client.send_signal(signal.SIGINT)
        status, out, problems = ended(client)
    assert (status, problems) == (0, "")
    assert out.endswith("; interrupted\n")


def test_a_second_interrupt_does_not_wait():
    with Host(flow=_holding) as host:
        client = send_command(host, "--for", "1 h")
        assert host.reported.wait(_TIMEOUT_S)
        client.send_signal(signal.SIGINT)
        with pytest.raises(subprocess.TimeoutExpired):
            client.wait(0.7)
        client.send_signal(signal.SIGINT)
        status, _, problems = ended(client)
    assert (status, problems) == (INTERRUPTED, "tussle: interrupted\n")


def test_a_download_ends_by_the_clients_clock():
    with Host(flow=send_forever, on_message=acknowledge) as host:
        end = finished(joining(host, direction="down", for_s=0.5))
    assert end["how"] == "done"


def test_an_upload_that_the_server_does_not_let_end_is_cut_off():
    with Host(flow=_holding, on_message=acknowledge, patience_ns=3 * 10**9) as host:
        end = finished(joining(host, for_s=0.5))
    assert (end["how"], end["cut_off"]) == ("cut", 1)


@pytest.mark.parametrize("direction", [[], ["--reverse"]])
def test_a_flow_that_is_cut_off_is_reported_as_a_failure(direction):
    with Host(flow=_closing, on_message=acknowledge) as host:
        status, out, problems = ended(send_command(host, "--for", "1 h", *direction))
    assert status == 1
    assert out.endswith("; cut off\n")
    assert problems == (
        "tussle: the flow was cut off by the server or by the network; "
        "repeat the same command to join again\n"
    )


def test_a_client_leaves_a_server_that_sends_messages_forever():
    def send_alive_forever(channel: Channel, _message: bytes) -> None:
        while True:
            channel.send(ALIVE)

    with Host(on_message=send_alive_forever) as host:
        assert "sends more than the protocol allows" in failed(joining(host))


def test_a_client_leaves_a_server_that_sends_more_than_requested():
    with Host(flow=send_forever) as host:
        assert "sends more than it was asked for" in failed(joining(host, direction="down", bytes=1000))


@pytest.mark.parametrize(
    "answer",
    [
        lambda question: question + b"\xff" * 16,
        lambda question: bytes(8) + question + bytes(8),
    ],
)
def test_a_client_leaves_a_server_with_a_wrong_probe(answer):
    with Host(on_probe=answer) as host:
        assert "answers the probe wrongly" in failed(joining(host))


@pytest.mark.parametrize("words", [b"\2", b"\4", b"\3", b"\0\1\0" + bytes(17), b"\xff", b""])
def test_a_client_leaves_a_server_that_sends_no_grant(words):
    with Host(on_join=lambda _host, channel: channel.send(words)) as host:
        assert host.at in failed(joining(host))


def _holding(flow: socket.socket) -> None:
    """Read the first bytes of the flow, and nothing more."""
    flow.setsockopt(socket.SOL_SOCKET, socket.SO_RCVBUF, 4096)
    threading.Event().wait()


def _closing(flow: socket.socket) -> None:
    """Send a little, and close."""
    flow.sendall(bytes(1000))
    flow.close()
