"""The address of a server: its notation, and the addresses for clients."""

import socket
from ipaddress import ip_address
from typing import NamedTuple

from tussle.errors import TussleError, shown

PORT = 5210
"""Default port of `tussle serve`."""

_MOST_PORT = 65535
_FAR_AWAY = ("192.0.2.1", "2001:db8::1")
"""Addresses for documentation (RFC 5737, RFC 3849), for a route look-up that sends nothing."""


class Place(NamedTuple):
    """A host, by name or address, and a port."""

    host: str
    port: int

    def __str__(self) -> str:
        return f"[{self.host}]:{self.port}" if ":" in self.host else f"{self.host}:{self.port}"


def place(written: str) -> Place:
    """Read HOST, HOST:PORT, or [ADDRESS]:PORT with an IPv6 address; raises TussleError."""
    host, colon, port = written.strip(), "", ""
    if written.startswith("["):
        host, bracket, rest = written[1:].partition("]")
        if not bracket or (rest and not rest.startswith(":")):
            raise TussleError(f"{shown(written)}: write [ADDRESS]:PORT")
        colon, port = rest[:1], rest[1:]
    elif written.count(":") == 1:
        host, colon, port = written.partition(":")
    if not host:
        raise TussleError(f"{shown(written)} names no host; write HOST or HOST:PORT")
    if not colon:
        return Place(host, PORT)
    if not (port.isascii() and port.isdigit() and 1 <= int(port) <= _MOST_PORT):
        raise TussleError(f"{shown(written)}: {shown(port)} is not a port; give one from 1 to {_MOST_PORT}")
    return Place(host, int(port))


def addresses(of: Place) -> tuple[str, ...]:
    """Return ADDRESS:PORT for each address of a host; raises TussleError when it has none."""
    try:
        found = socket.getaddrinfo(of.host, of.port, type=socket.SOCK_STREAM)
    except (OSError, UnicodeError) as error:
        reason = (error.strerror if isinstance(error, OSError) else None) or str(error)
        raise TussleError(f"{shown(of.host)}: {reason}; check the name, or give an address") from None
    return tuple(dict.fromkeys(str(Place(str(info[4][0]), of.port)) for info in found))


def own_address(listening: str) -> str:
    """Return the address for clients of a server that listens at an address, or at all of them."""
    address = ip_address(listening)
    if not address.is_unspecified:
        return listening
    family = socket.AF_INET if address.version == 4 else socket.AF_INET6  # noqa: PLR2004 (IPv4)
    try:
        with socket.socket(family, socket.SOCK_DGRAM) as asking:
            asking.connect((_FAR_AWAY[address.version == 6], 9))  # noqa: PLR2004 (IPv6)
            return str(asking.getsockname()[0])
    except OSError:
        return socket.gethostname()
