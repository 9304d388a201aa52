"""The packets of a run as a capture of its hosts' network cards, which Wireshark and tshark open.

The container is [pcapng](https://www.ietf.org/archive/id/draft-ietf-opsawg-pcapng-02.html): one section, one
interface of raw IP, one enhanced packet block per packet, in nanoseconds. The code needs three kinds of block
only, and is shorter and faster than a library with an object for each of a million packets.

Packets are truncated after their headers, as by `tcpdump -s`: simulated packets have no payload. The
simulator numbers packets; here packet 0 starts at byte 1, and all but the last have a full segment.
The TCP checksum, which needs the payload, is 0; addresses and ports are arbitrary. The last packet of a flow
with a size carries FIN and PSH. A flow that is stopped ends without FIN. The table does not have the ends of
writes, at which Linux sets PSH.
"""

from __future__ import annotations

import struct
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tussle.exports._headers import PLAIN_HEADER_BYTES

_SECTION, _INTERFACE, _PACKET = 0x0A0D0D0A, 1, 6
_BYTE_ORDER = 0x1A2B3C4D
_RAW_IP = 101
"""The link type whose packets start with the IP header."""
_NAME, _RESOLUTION, _APPLICATION, _FLAGS = 2, 9, 4, 2
_INBOUND, _OUTBOUND, _DAMAGED = 1, 2, 1 << 24
"""Flags of a packet block; the last: its checksum is wrong."""
_FIN, _SYN, _PSH, _ACK, _ECE, _CWR = 1, 2, 8, 16, 64, 128
_ECN = {"not_ect": 0, "ect1": 1, "ect0": 2, "ce": 3}
"""The two bits of RFC 3168, 5."""
_WRAP = 1 << 32
_MOST_WINDOW = 0xFFFF
_MOST_SCALE = 14
"""RFC 7323, 2.3."""
_HOSTS = 254
"""Hosts in a network of 256 addresses: the first names the network, the last is its broadcast."""
_SENDER_PORT, _RECEIVER_PORT = 49152, 5001
_SACK_BLOCKS = 4
_IP_BYTES = 20
_SYN_OPTIONS = {60: b"\x04\x02\x08\x0a", 52: b"\x01\x01\x04\x02", 48: b""}
"""The options of a SYN between MSS and window scale, up to its timestamps, by its size: permission of SACK
and timestamps, the first alone, or neither."""
_END = bytes(4)
"""The end of a list of options."""


@dataclass(frozen=True)
class RunPackets:
    """The packets of a run at the hosts of one side."""

    title: str
    tool: str
    """The program that produced the run, with its version."""
    side: str
    """The hosts: `sender` or `receiver`."""
    segments_bytes: Sequence[int]
    """Payload of a full packet of each flow."""
    headers_bytes: Sequence[int]
    """Size of the headers of a full packet of each flow: 52 with timestamps, 40 without."""
    table: pl.DataFrame
    """The simulator's table `packets`."""


def write_pcapng(packets: RunPackets, path: Path) -> None:
    """Write a pcapng file; simulated time starts at the epoch."""
    seen = packets.table.filter(pl.col("side") == packets.side)
    connections = [_Connection(packets, flow) for flow in range(len(packets.segments_bytes))]
    with path.open("wb") as file:
        section = struct.pack("<IHHq", _BYTE_ORDER, 1, 0, -1) + _option(_APPLICATION, packets.tool.encode())
        file.write(_block(_SECTION, section + _option(1, packets.title.encode()) + _END))
        name = _option(_NAME, f"{packets.side}s".encode())
        interface = struct.pack("<HHI", _RAW_IP, 0, 0) + name + _option(_RESOLUTION, b"\x09") + _END
        file.write(_block(_INTERFACE, interface))
        for row in seen.iter_rows(named=True):
            file.write(_packet_block(row, connections[row["flow"]].header(row), packets.side))


def _packet_block(row: dict[str, Any], header: bytes, side: str) -> bytes:
    flags = _OUTBOUND if _is_from_sender(row) == (side == "sender") else _INBOUND
    flags |= _DAMAGED if row["corrupt"] else 0
    above, below = divmod(row["time_ns"], _WRAP)
    about = struct.pack("<IIIII", 0, above, below, len(header), row["size_bytes"])
    return _block(_PACKET, about + _padded(header) + _option(_FLAGS, struct.pack("<I", flags)) + _END)


class _Connection:
    """Addresses, ports and sequence numbers of a flow's packets on the wire."""

    def __init__(self, packets: RunPackets, flow: int) -> None:
        self._segment_bytes = packets.segments_bytes[flow]
        table = packets.table.filter(pl.col("flow") == flow)
        last = table.filter(pl.col("fin") == 1).select("number", "size_bytes").head(1)
        self._last: int | None = None if last.is_empty() else last.item(0, 0)
        self._last_bytes = 0 if last.is_empty() else last.item(0, 1) - packets.headers_bytes[flow]
        most = table["window_packets"].max()
        most_bytes = (most if isinstance(most, int) else 0) * self._segment_bytes
        self._scale = min(_MOST_SCALE, max(0, (most_bytes // _MOST_WINDOW).bit_length()))
        options_bytes = packets.headers_bytes[flow] - PLAIN_HEADER_BYTES
        self._has_timestamps = options_bytes > 0
        self._mss = struct.pack("!BBH", 2, 4, min(self._segment_bytes + options_bytes, _MOST_WINDOW))
        self._sender, self._receiver = _addresses(flow)
        self._ports = (_SENDER_PORT + flow % 10_000, _RECEIVER_PORT)
        self._sent = {True: 0, False: 0}

    def header(self, row: dict[str, Any]) -> bytes:
        """Return the IPv4 and TCP header of a packet, or the UDP header of a datagram."""
        from_sender = _is_from_sender(row)
        source, destination = (
            (self._sender, self._receiver) if from_sender else (self._receiver, self._sender)
        )
        sender_port, receiver_port = self._ports
        ports = (sender_port, receiver_port) if from_sender else (receiver_port, sender_port)
        is_datagram = row["kind"] == "datagram"
        transport = self._udp(row, ports) if is_datagram else self._tcp(row, ports)
        protocol = 17 if is_datagram else 6
        self._sent[from_sender] += 1
        identification = self._sent[from_sender] % 0x10000
        before, after = (
            struct.pack("!BBHHH", 0x45, _ECN[row["ecn"]], row["size_bytes"], identification, 0x4000)
            + bytes((64, protocol)),
            source + destination,
        )
        return before + _checksum(before + after) + after + transport

    def _udp(self, row: dict[str, Any], ports: tuple[int, int]) -> bytes:
        """Return the UDP header (RFC 768); a checksum of 0 means that there is none."""
        return struct.pack("!HHHH", *ports, row["size_bytes"] - _IP_BYTES, 0)

    def _tcp(self, row: dict[str, Any], ports: tuple[int, int]) -> bytes:
        options = self._options(row)
        sequence, acknowledged = self._numbers(row)
        words = (5 + len(options) // 4) << 4
        window = self._window(row)
        tcp = struct.pack("!HHIIBBHHH", *ports, sequence, acknowledged, words, _tcp_flags(row), window, 0, 0)
        return tcp + options

    def _numbers(self, row: dict[str, Any]) -> tuple[int, int]:
        match row["kind"]:
            case "syn":
                return 0, 0
            case "syn_ack":
                return 0, 1
            case "data":
                return self._byte(row["number"]), 1
            case _:
                return 1, self._byte(row["number"])

    def _byte(self, number: int) -> int:
        """Return the sequence number of a packet's first byte, or what follows the last one and its FIN."""
        if self._last is not None and number > self._last:
            return (2 + self._last * self._segment_bytes + self._last_bytes) % _WRAP
        return (1 + number * self._segment_bytes) % _WRAP

    def _window(self, row: dict[str, Any]) -> int:
        if row["kind"] in ("syn", "data") or _is_from_sender(row):
            return _MOST_WINDOW  # the sender receives no data
        scale = 0 if row["kind"] == "syn_ack" else self._scale
        return min(row["window_packets"] * self._segment_bytes >> scale, _MOST_WINDOW)

    def _options(self, row: dict[str, Any]) -> bytes:
        times = struct.pack("!II", row["ts_val_ms"], row["ts_echo_ms"])
        if row["kind"] in ("syn", "syn_ack"):
            options = _SYN_OPTIONS[row["size_bytes"]]
            times = times if options.endswith(b"\x08\x0a") else b""
            return self._mss + options + times + struct.pack("!BBBB", 1, 3, 3, self._scale)
        stamped = b"\x01\x01\x08\x0a" + times if self._has_timestamps else b""
        blocks = list(self._sacked(row))
        if not blocks:
            return stamped
        edges = [edge for block in blocks for edge in block]
        sack = struct.pack(f"!BB{len(edges)}I", 5, 2 + 4 * len(edges), *edges)
        return stamped + b"\x01\x01" + sack

    def _sacked(self, row: dict[str, Any]) -> Iterator[tuple[int, int]]:
        for index in range(_SACK_BLOCKS):
            start, end = row[f"sack_{index}_start"], row[f"sack_{index}_end"]
            if start is not None:
                yield self._byte(start), self._byte(end)


def _addresses(flow: int) -> tuple[bytes, bytes]:
    """Return the addresses of a flow's sender and receiver: hosts 1 to 254 of each network."""
    network, place = divmod(flow, _HOSTS)
    return bytes((10, 1, network, place + 1)), bytes((10, 2, network, place + 1))


def _is_from_sender(row: dict[str, Any]) -> bool:
    """Return whether the sender sent a packet; only ACKs of receivers have a window."""
    handshake = row["kind"] == "ack" and row["number"] == 0 and row["window_packets"] == 0
    return row["kind"] in ("syn", "data", "datagram") or handshake


def _tcp_flags(row: dict[str, Any]) -> int:
    flags = {"syn": _SYN, "syn_ack": _SYN | _ACK, "data": _ACK, "ack": _ACK}[row["kind"]]
    flags |= _FIN | _PSH if row["fin"] else 0
    return flags | (_ECE if row["ece"] else 0) | (_CWR if row["cwr"] else 0)


def _checksum(header: bytes) -> bytes:
    """RFC 1071: the ones' complement of the ones' complement sum of 16-bit words."""
    total = sum(struct.unpack(f"!{len(header) // 2}H", header))
    total = (total & 0xFFFF) + (total >> 16)
    return struct.pack("!H", ~(total + (total >> 16)) & 0xFFFF)


def _padded(data: bytes) -> bytes:
    return data + bytes(-len(data) % 4)


def _option(code: int, value: bytes) -> bytes:
    return struct.pack("<HH", code, len(value)) + _padded(value)


def _block(kind: int, body: bytes) -> bytes:
    length = struct.pack("<I", 12 + len(body))
    return struct.pack("<I", kind) + length + body + length
