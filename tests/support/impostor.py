"""A client and a server as anybody with the code may write them: they keep to no rule."""

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
    "host": "there",
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
_PATIENCE_S = 30.0
_TRIES = 10
_PAUSE_S = 0.2
_OPENING = b"tussle1"
_SENDER = (
    *("ca_state", "unacked", "sacked", "lost", "retrans", "rtt_us", "ssthresh", "cwnd", "total_retrans"),
    *("pacing_bytes_per_s", "bytes_acked", "min_rtt_us", "data_segs_out", "delivery_bytes_per_s", "busy_us"),
    *("rwnd_limited_us", "sndbuf_limited_us", "delivered", "delivered_ce", "dsack_dups", "reordering_seen"),
)


def number(value: int) -> bytes:
    """Write a number as postcard does: seven bits a byte."""
    written = bytearray()
    while value > 0x7F:
        written.append(value & 0x7F | 0x80)
        value >>= 7
    return bytes([*written, value])


def text(words: str) -> bytes:
    return number(len(words.encode())) + words.encode()


def sender(**figures: int) -> bytes:
    """What a sender sees; what is not given is plausible."""
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


class Talk:
    """A connection with the channel over it."""

    def __init__(self, connection: socket.socket) -> None:
        self.socket = connection

    @classmethod
    def asking(cls, code: str, reach: Callable[[], socket.socket]) -> Self:
        """Reach a server and greet it, as the client; what takes time here is done before."""
        handshake = Handshake(code)
        asked = handshake.ask()
        self = cls(reach())
        try:
            self.socket.sendall(_OPENING + b"J" + struct.pack(">H", len(asked)) + asked)
            self._begin(handshake)
        except ConnectionError:
            self.socket.close()
            raise
        return self

    def _begin(self, handshake: Handshake) -> None:
        self._says, self._hears = handshake.heard(self._frame())

    def answer(self, code: str) -> None:
        """As the server."""
        said, (self._says, self._hears) = Handshake(code).answer(self._frame())
        self._send(said)

    def say(self, plain: bytes) -> None:
        self._send(self._says.seal(plain))

    def hear(self) -> bytes:
        return self._hears.open(self._frame())

    def _send(self, frame: bytes) -> None:
        self.socket.sendall(struct.pack(">H", len(frame)) + frame)

    def _frame(self) -> bytes:
        [length] = struct.unpack(">H", exactly(self.socket, 2))
        return exactly(self.socket, length)


def exactly(connection: socket.socket, count: int) -> bytes:
    found = b""
    while len(found) < count:
        part = connection.recv(count - len(found))
        if not part:
            raise ConnectionError("it has ended")
        found += part
    return found


def reached(server: tuple[str, int], source: str = "") -> socket.socket:
    """Connect, from an address of this machine's loopback if one is given."""
    return socket.create_connection(
        server, timeout=_PATIENCE_S, source_address=(source, 0) if source else None
    )


class Client:
    """A client that has joined. A context manager: the client leaves at its end."""

    def _let_in(self, code: str) -> Talk:
        """Try again where the door refuses: an address has ten attempts a second."""
        for _ in range(_TRIES - 1):
            with contextlib.suppress(ConnectionError):
                return Talk.asking(code, lambda: reached(self.server, self._source))
            time.sleep(_PAUSE_S)
        return Talk.asking(code, lambda: reached(self.server, self._source))

    def __init__(self, at: str, code: str, **wish: Any) -> None:
        host, _, port = at.partition(":")
        self.server, self._source = (host, int(port)), wish.get("source", "")
        self._talk = self._let_in(code)
        self._open = [self._talk.socket]
        flows = wish.get("flows", 1)
        asked = [
            b"\0",
            number(1),
            text(wish.get("algorithm", "reno")),
            number(flows),
            number(wish.get("direction", UP)),
            number(wish.get("for_ns", WEEK_NS)),
            b"\0" if wish.get("bytes") is None else b"\1" + number(wish["bytes"]),
        ]
        self.say(b"".join(asked))
        granted = self._talk.hear()
        assert granted[0] == 0, granted
        [tickets, self._probe] = _tickets(granted, flows)
        self.tickets = tickets

    def __enter__(self) -> Self:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in self._open:
            each.close()

    def say(self, plain: bytes) -> None:
        self._talk.say(plain)

    def open_flow(self, index: int = 0) -> socket.socket:
        return self._ticket(self.tickets[index])

    def instant(self) -> int:
        """Ask what the server's clock shows."""
        if not hasattr(self, "_asks"):
            self._asks = self._ticket(self._probe)
        self._asks.sendall(bytes(8))
        return struct.unpack(">Q", exactly(self._asks, 24)[8:16])[0] // GRID_NS

    def tell(self, rows: Iterable[tuple[int, bytes]], flow: int = 0) -> None:
        """Claim what was seen at instants, in one message."""
        rows = list(rows)
        told = [number(instant) + number(flow) + seen for instant, seen in rows]
        self.say(b"\2" + number(len(rows)) + b"".join(told))

    def tell_idle(self, rtt_us: int) -> None:
        self.say(b"\1" + number(rtt_us))

    def tell_validity(self, flow: int = 0, **changes: Any) -> None:
        self.say(b"\3" + number(flow) + text(json.dumps(VALIDITY | changes)))

    def finish(self) -> None:
        """Send the end of the reports, and wait until the server has confirmed it."""
        self.say(b"\4")
        while self._talk.hear() != b"\4":
            pass

    def until_gone(self) -> None:
        """Wait until the server has closed."""
        try:
            while True:
                self._talk.hear()
        except ConnectionError:
            return

    def _ticket(self, ticket: bytes) -> socket.socket:
        made = reached(self.server, self._source)
        self._open.append(made)
        made.sendall(_OPENING + b"T" + ticket)
        return made


def _tickets(granted: bytes, flows: int) -> tuple[Sequence[bytes], bytes]:
    """Read the tickets of the flows, and that of the probe, out of a grant."""
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


def _answer(question: bytes) -> bytes:
    return question + struct.pack(">QQ", 10**9, 10**18)


class Host:
    """A server for one client. A context manager: all connections are closed at its end.

    What it does can be replaced: `greets` takes the talk once a client has asked to join, `flow` each
    connection of a flow, `hears` each message of the client, `answers` a question of the probe.
    """

    def __init__(self, **does: Any) -> None:
        self.patience_ns = does.get("patience_ns", 3600 * 10**9)
        self._greets: Callable[[Host, Talk], None] = does.get("greets", Host.grant)
        self._flow: Callable[[socket.socket], None] = does.get("flow", _swallow)
        self._hears: Callable[[Talk, bytes], None] = does.get("hears", lambda _talk, _message: None)
        self._answers: Callable[[bytes], bytes] = does.get("answers", _answer)
        self._probe = os.urandom(16)
        self._open: list[socket.socket] = []
        self.told = threading.Event()
        """The client has told rows: its flows are open."""

    def __enter__(self) -> Self:
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.at = f"127.0.0.1:{self._listener.getsockname()[1]}"
        self._begin(self._accept)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for each in (self._listener, *self._open):
            # Those who wait for it in another thread wake up.
            with contextlib.suppress(OSError):
                each.shutdown(socket.SHUT_RDWR)
            each.close()

    def _begin(self, what: Callable[..., None], *arguments: Any) -> None:
        def quietly() -> None:
            with contextlib.suppress(OSError):
                what(*arguments)

        threading.Thread(target=quietly, daemon=True).start()

    def _accept(self) -> None:
        while True:
            connection, _ = self._listener.accept()
            self._open.append(connection)
            self._begin(self._serve, connection)

    def _serve(self, connection: socket.socket) -> None:
        if exactly(connection, 8)[-1:] == b"J":
            talk = Talk(connection)
            talk.answer(CODE)
            talk.hear()
            self._greets(self, talk)
        elif exactly(connection, 16) == self._probe:
            while True:
                connection.sendall(self._answers(exactly(connection, 8)))
        else:
            self._flow(connection)

    def grant(self, talk: Talk, flows: int = 1) -> None:
        """Admit the client, and receive its messages."""
        tickets = os.urandom(16 * flows)
        talk.say(b"\0" + number(1) + number(flows) + tickets + self._probe + number(self.patience_ns))
        while True:
            message = talk.hear()
            if message[0] == 2:
                self.told.set()
            self._hears(talk, message)


def _swallow(flow: socket.socket) -> None:
    """Take whatever comes, and never close."""
    while flow.recv(1 << 16):
        pass
    threading.Event().wait()


def polite(talk: Talk, message: bytes) -> None:
    """Answer each message as a server may: with a sign of life, or with the confirmation of the end."""
    talk.say(THANKS if message == b"\4" else ALIVE)


def pushing(flow: socket.socket) -> None:
    """Send without end."""
    while True:
        flow.sendall(bytes(1 << 16))
