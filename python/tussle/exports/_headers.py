"""The size of the headers of a flow's full packets."""

from collections.abc import Mapping
from typing import Any

PLAIN_HEADER_BYTES = 40
"""IPv4 and TCP without options."""
HEADER_BYTES = 52
"""IPv4 and TCP with timestamps."""


def header_bytes(run: Mapping[str, Any], flow: Mapping[str, Any]) -> int:
    """Return the size of the headers of a full packet of a flow in a run: both hosts must have timestamps."""
    hosts = (flow.get(end) or run.get("hosts", {}) for end in ("sender", "receiver"))
    return PLAIN_HEADER_BYTES if any(host.get("timestamps") == "off" for host in hosts) else HEADER_BYTES
