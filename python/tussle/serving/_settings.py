"""Settings of a server and of a client."""

import secrets
from collections.abc import Iterable
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any

from tussle.catalog import catalog
from tussle.errors import TussleError, unknown
from tussle.scenario.fields import UDP

PATIENCE = "60 s"
"""Time for which a client may be silent until it is considered lost."""

_ALPHABET = "0123456789ABCDEFGHJKMNPQRSTVWXYZ"
"""Crockford's base 32."""
_LETTERS = 20
"""100 bits: see docs/decisions/0009-who-may-join.md."""
_GROUP = 4

_DEFAULT = Path("/proc/sys/net/ipv4/tcp_congestion_control")


@dataclass(frozen=True)
class ServeSettings:
    """Settings of a server, as in crates/tussle-agent/src/join/server.rs."""

    listen: str
    code: str
    folder: str
    """An existing, empty folder for the tables."""
    for_ns: int | None
    clients: int | None
    until_idle_ns: int | None
    patience_ns: int
    algorithms: tuple[str, ...]

    def as_dict(self) -> dict[str, Any]:
        """Return the settings for the agent."""
        return asdict(self)


@dataclass(frozen=True)
class SendSettings:
    """Settings of a client, as in crates/tussle-agent/src/join/client.rs."""

    to: tuple[str, ...]
    code: str
    algorithm: str
    flows: int
    direction: str
    """`up`, or `down`: the server sends."""
    for_ns: int
    bytes: int | None

    def as_dict(self) -> dict[str, Any]:
        """Return the settings for the agent."""
        return asdict(self)


def new_code() -> str:
    """Return a new random code, in groups of four letters."""
    letters = "".join(secrets.choice(_ALPHABET) for _ in range(_LETTERS))
    return "-".join(letters[at : at + _GROUP] for at in range(0, _LETTERS, _GROUP))


def known_algorithms() -> tuple[str, ...]:
    """Return the algorithms that a dataset can have, sorted."""
    return tuple(sorted(name for name in catalog().algorithms if name != UDP))


def usual_algorithm(known: Iterable[str]) -> str:
    """Return the default algorithm of this machine's connections.

    Raises TussleError when Tussle does not know it, or this is not Linux.
    """
    try:
        name = _DEFAULT.read_text("utf-8").strip()
    except OSError:
        raise TussleError("tussle send needs Linux, whose kernel reports the state of its TCP") from None
    if name not in known:
        raise TussleError(
            f"this machine's default algorithm is {name}, which Tussle does not know; give --algorithm"
        )
    return name


def checked_algorithm(name: str, known: Iterable[str]) -> str:
    """Return `name`; raises TussleError, with the nearest one, when it is not known."""
    known = list(known)
    if name not in known:
        raise TussleError(f"--algorithm: {unknown('algorithm', name, known)}")
    return name
