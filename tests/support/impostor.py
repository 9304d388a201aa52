"""A hostile client and server that know the code: they can break every rule of the protocol."""

import contextlib
import json
import os
import socket
import struct
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from types import TracebackType
from typing import Any, Self

from noise import Handshake

UP, DOWN = 0, 1
WEEK_NS = 7 * 24 * 3600 * 10**9
GRID_NS = 10**8
VALIDITY = {
    "host": "remote",
    "kernel": "6.1",
    "algorithm": "reno",
    "interface": None,
    "qdisc": None,
    "offloads": None,
    "path_mtu_bytes": 1500,
    "clock": None,
    "busy_s": 1.0,
    "receiver_limited_s": 0.0,
    "sender_limited_s": 0.0,
    "load": {"cpu_share": 0.1, "timer_slip_p99_ms": 0.1, "timer_slip_max_ms": 0.2},
}
_TIMEOUT_S = 30.0
_TRIES = 10
_PAUSE_S = 0.2
_PREAMBLE = b"tussle1"
_SENDER = (
    *("ca_state", "unacked", "sacked", "lost", "retrans", "rtt_us", "ssthresh", "cwnd", "total_retrans"),
    *("pacing_bytes_per_s", "bytes_acked", "min_rtt_us", "data_segs_out", "delivery_bytes_per_s", "busy_us"),
    *("rwnd_limited_us", "sndbuf_limited_us", "delivered", "delivered_ce", "dsack_dups", "reordering_seen"),
)


def number(value: int) -> bytes:
    """Encode a number as postcard does: varint, seven bits a byte."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def text(words: str) -> bytes:
    return number(len(words.encode())) + words.encode()


def sender(**figures: int) -> bytes:
    """Encode a row of a sender; figures not given are plausible."""
    usual = dict.fromkeys(_SENDER, 0) | {"rtt_us": 1000, "min_rtt_us": 900, "cwnd": 10, "data_segs_out": 1}
    figures = usual | figures
    return (
        b"\0"
        + bytes([figures["ca_state"]])
        + b"".join(map(number, [figures[n] for n in _SENDER[1:]]))
        + b"\0"
    )


def receiver(received_bytes: int, packets: int = 1) -> bytes:
    return b"\1" + number(received_bytes) + number(packets)


def probe(rtt_us: int) -> bytes:
    return b"\2" + number(rtt_us)


class Channel:
    """A TCP connection with the encrypted channel on top."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    @classmethod
    def to_server(cls, code: str, connect: Callable[[], socket.socket]) -> Self:
        """Connect as the client and complete the handshake; slow cryptography is done before connecting."""
        handshake = Handshake(code)
        request = handshake.write_request()
        self = cls(connect())
        try:
            self.socket.sendall(_PREAMBLE + b"J" + struct.pack(">H", len(request)) + request)
            self._set_up(handshake)
        except ConnectionError:
            self.socket.close()
            raise
        return self

    def _set_up(self, handshake: Handshake) -> None:
        self._outgoing, self._incoming = handshake.read_reply(self._frame())

    def reply_to(self, code: str) -> None:
        """Complete the handshake as the server."""
        reply, (self._outgoing, self._incoming) = Handshake(code).reply_to(self._frame())
        self._send_frame(reply)

    def send(self, plain: bytes) -> None:
        self._send_frame(self._outgoing.seal(plain))

    def receive(self) -> bytes:
        return self._incoming.open(self._frame())

    def _send_frame(self, frame: bytes) -> None:
        self.socket.sendall(struct.pack(">H", len(frame)) + frame)

    def _frame(self) -> bytes:
        [length] = struct.unpack(">H", exactly(self.socket, 2))
        return exactly(self.socket, length)


def exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            raise ConnectionError("the connection is closed")
        found += part
    return found


def connected(server: tuple[str, int], source: str = "") -> socket.socket:
    """Connect, from an address of this machine's loopback if one is given."""
    return socket.create_connection(
        server, timeout=_TIMEOUT_S, source_address=(source, 0) if source else None
    )


class Client:
    """A client that has joined. A context manager: the client leaves at its end."""

    def _join(self, code: str) -> Channel:
        """Retry refused connections: the server accepts ten attempts per second from an address."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(ConnectionError):
                return Channel.to_server(code, lambda: connected(self.server, self._source))
            time.sleep(_PAUSE_S)
        return Channel.to_server(code, lambda: connected(self.server, self._source))

    def __init__(self, at: str, code: str, **wish: Any) -> None:
        host, _, port = at.partition(":")
        self.server, self._source = (host, int(port)), wish.get("source", "")
        self._channel = self._join(code)
        self._sockets = [self._channel.socket]
        flows = wish.get("flows", 1)
        request = [
            b"\0",
            number(1),
            text(wish.get("algorithm", "reno")),
            number(flows),
            number(wish.get("direction", UP)),
            number(wish.get("for_ns", WEEK_NS)),
            b"\0" if wish.get("bytes") is None else b"\1" + number(wish["bytes"]),
        ]
        self.send(b"".join(request))
        granted = self._channel.receive()
        assert granted[0] == 0, granted
        [tickets, self._probe] = _tickets(granted, flows)
        self.tickets = tickets

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._sockets:
            each.close()

    def send(self, plain: bytes) -> None:
        self._channel.send(plain)

    def open_flow(self, index: int = 0, pause_s: float = 0.0) -> socket.socket:
        """Open a flow: connect, and send its ticket after a pause."""
        return self._ticket(self.tickets[index], pause_s)

    def server_instant(self) -> int:
        """Read the server's clock through the probe, in units of `GRID_NS`."""
        if not hasattr(self, "_clock_socket"):
            self._clock_socket = self._ticket(self._probe)
        self._clock_socket.sendall(bytes(8))
        return struct.unpack(">Q", exactly(self._clock_socket, 24)[8:16])[0] // GRID_NS

    def report(self, rows: Iterable[tuple[int, bytes]], flow: int = 0) -> None:
        """Report rows, each with its instant, in one message."""
        rows = list(rows)
        encoded = [number(instant) + number(flow) + row for instant, row in rows]
        self.send(b"\2" + number(len(rows)) + b"".join(encoded))

    def report_idle(self, rtt_us: int) -> None:
        self.send(b"\1" + number(rtt_us))

    def report_validity(self, flow: int = 0, **changes: Any) -> None:
        self.send(b"\3" + number(flow) + text(json.dumps(VALIDITY | changes)))

    def finish(self) -> None:
        """Send the end of the reports, and wait until the server has confirmed it."""
        self.send(b"\4")
        while self._channel.receive() != b"\4":
            pass

    def wait_for_close(self) -> None:
        """Wait until the server has closed the connection."""
        try:
            while True:
                self._channel.receive()
        except ConnectionError:
            return

    def _ticket(self, ticket: bytes, pause_s: float = 0.0) -> socket.socket:
        made = connected(self.server, self._source)
        self._sockets.append(made)
        time.sleep(pause_s)
        made.sendall(_PREAMBLE + b"T" + ticket)
        return made


def _tickets(granted: bytes, flows: int) -> tuple[Sequence[bytes], bytes]:
    """Parse the tickets of the flows and of the probe in a grant."""
    rest = granted[1:]
    while rest[0] & 0x80:
        rest = rest[1:]
    rest = rest[2:]
    tickets = [rest[16 * index : 16 * (index + 1)] for index in range(flows + 1)]
    return tickets[:-1], tickets[-1]


ALIVE, OVER, THANKS = b"\2", b"\3", b"\4"
CODE = "0000-0000-0000-0000-0000"


def refusal(words: str) -> bytes:
    return b"\1" + text(words)


def _probe_reply(question: bytes) -> bytes:
    return question + struct.pack(">QQ", 10**9, 10**18)


class Host:
    """A server for one client. A context manager: all connections are closed at its end.

    Callbacks replace its behaviour: `on_join` is called once a client has asked to join, `flow` with each
    connection of a flow, `on_message` with each message of the client, `on_probe` with each request of the
    probe.
    """

    def __init__(self, **callbacks: Any) -> None:
        self.patience_ns = callbacks.get("patience_ns", 3600 * 10**9)
        self._on_join: Callable[[Host, Channel], None] = callbacks.get("on_join", Host.grant)
        self._on_flow: Callable[[socket.socket], None] = callbacks.get("flow", _discard)
        self._on_message: Callable[[Channel, bytes], None] = callbacks.get(
            "on_message", lambda _channel, _message: None
        )
        self._on_probe: Callable[[bytes], bytes] = callbacks.get("on_probe", _probe_reply)
        self._probe = os.urandom(16)
        self._sockets: list[socket.socket] = []
        self.reported = threading.Event()
        """Set when the client has reported rows, which means that its flows are open."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.at = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._start(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._sockets):
            # Wakes other threads that block on this socket.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _start(self, function: Callable[..., None], *arguments: Any) -> None:
        def quietly() -> None:
            with contextlib.suppress(OSError):
                function(*arguments)

        threading.Thread(target=quietly, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self._sockets.append(connection)
            self._start(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        if exactly(connection, 8)[-1:] == b"J":
            channel = Channel(connection)
            channel.reply_to(CODE)
            channel.receive()
            self._on_join(self, channel)
        elif exactly(connection, 16) == self._probe:
            while True:
                connection.sendall(self._on_probe(exactly(connection, 8)))
        else:
            self._on_flow(connection)

    def grant(self, channel: Channel, flows: int = 1) -> None:
        """Admit the client, and receive its messages."""
        tickets = os.urandom(16 * flows)
        channel.send(b"\0" + number(1) + number(flows) + tickets + self._probe + number(self.patience_ns))
        while True:
            message = channel.receive()
            if message[0] == 2:
                self.reported.set()
            self._on_message(channel, message)


def _discard(flow: socket.socket) -> None:
    """Read and discard all data; never close."""
    while flow.recv(1 << 16):
        pass
    threading.Event().wait()


def acknowledge(channel: Channel, message: bytes) -> None:
    """Answer each message as the protocol allows: keep-alive, or confirmation of the end."""
    channel.send(THANKS if message == b"\4" else ALIVE)


def send_forever(flow: socket.socket) -> None:
    """Send data forever."""
    while True:
        flow.sendall(bytes(1 << 16))
