"""Sizes of a socket's buffer: minimum, default and maximum, as in `net.ipv4.tcp_rmem`, or no limit."""

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any

from pydantic import BeforeValidator, WithJsonSchema

from tussle import units
from tussle.errors import shown
from tussle.scenario.fields import refusal
from tussle.scenario.problems import Problem

UNLIMITED = "unlimited"
"""A buffer that never limits; in a run it is left out."""
_EXAMPLE = "4 KiB, 128 KiB, 6 MiB"
_LEAST_DEFAULT_BYTES = 8192
"""Two packets of Ethernet with their metadata, half of which may be window."""
_LEAST_BYTES = 4096
"""Smallest minimum that Linux takes."""
_MOST_BYTES = 2**31 - 1
"""Linux keeps the size of a buffer in 31 bits."""
_OF_RECEIVE_BUFFER = ("moderate_rcvbuf", "rcvbuf_tuning", "adv_win_scale")
"""Settings without effect on a buffer that never limits."""


def sizes_bytes(text: str) -> list[int]:
    """Return minimum, default and maximum in bytes: three sizes, or the numbers of a sysctl.

    >>> sizes_bytes("4 KiB, 128 KiB, 6 MiB"), sizes_bytes("4096 131072 6291456")
    ([4096, 131072, 6291456], [4096, 131072, 6291456])
    """
    if re.fullmatch(r"\d+(\s+\d+)*", text):
        return [int(number) for number in text.split()]
    return [units.size(part.strip()) for part in text.split(",")]


def _check(value: object) -> str:
    if value == UNLIMITED:
        return UNLIMITED
    how = f'give minimum, default and maximum, such as "{_EXAMPLE}", or "{UNLIMITED}"'
    if not isinstance(value, str):
        raise refusal(f"{shown(value)}; {how}")
    text = value.strip()
    try:
        sizes = sizes_bytes(text)
    except units.UnitError as error:
        raise refusal(f"{shown(text)}: {error}; {how}") from None
    if len(sizes) != len(("minimum", "default", "maximum")):
        raise refusal(f"{shown(text)}; {how}")
    if not 0 < sizes[0] <= sizes[1] <= sizes[2]:
        raise refusal(f"{shown(text)} is not in ascending order; {how}")
    if sizes[1] < _LEAST_DEFAULT_BYTES:
        raise refusal(f"{shown(text)}; give a default of at least {_LEAST_DEFAULT_BYTES} B")
    if sizes[2] > _MOST_BYTES:
        raise refusal(f"{shown(text)}; give a maximum of at most {_MOST_BYTES} B")
    if sizes[0] < _LEAST_BYTES:
        raise refusal(f"{shown(text)}; give a minimum of at least {_LEAST_BYTES} B, which Linux wants: 4 KiB")
    return text


SocketBuffer = Annotated[
    str, BeforeValidator(_check), WithJsonSchema({"type": "string", "examples": [_EXAMPLE, UNLIMITED]})
]
"""Minimum, default and maximum of a socket's buffer, or no limit."""


def buffers_in_run(host: Mapping[str, Any]) -> dict[str, Any]:
    """Return a host of a run with its buffers in bytes; one that never limits is left out."""
    buffers = {key: host[key] for key in ("rmem", "wmem") if host[key] != UNLIMITED}
    names = ("min_bytes", "default_bytes", "max_bytes")
    in_bytes = {key: dict(zip(names, sizes_bytes(text), strict=True)) for key, text in buffers.items()}
    return {key: value for key, value in host.items() if key not in ("rmem", "wmem")} | in_bytes


def buffer_problems(given: Mapping[str, Any], settings: Mapping[str, Any], where: str) -> Iterator[Problem]:
    """Check the settings of receive buffers that one table gives, with the other `settings` of its host."""
    for key in _OF_RECEIVE_BUFFER:
        if given.get(key) is None:
            continue
        if settings["rmem"] == UNLIMITED:
            what = f"{shown(given[key])}; the receive buffer is unlimited; give rmem, too, or leave it out"
            yield Problem(f"{where}.{key}", what)
    if given.get("moderate_rcvbuf") and settings.get("receive_window") and settings["rmem"] != UNLIMITED:
        what = "true; a receive_window that is given does not grow; leave one of them out"
        yield Problem(f"{where}.moderate_rcvbuf", what)
