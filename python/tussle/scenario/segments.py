"""The payload of a flow's full packets, and their headers, which have a timestamp option or not."""

from tussle import units
from tussle.scenario.fields import UDP
from tussle.scenario.hosts import Hosts, settings_of_end
from tussle.scenario.network import HEADER_BYTES
from tussle.scenario.tables import Flow

_PACKET_BYTES = 1500
_TIMESTAMPS_BYTES = 12


def header_bytes(hosts: Hosts, flow: Flow) -> int:
    """Return the bytes of the IPv4 and TCP headers of a full packet; both hosts must have timestamps."""
    ends = (settings_of_end(hosts, end) for end in (flow.sender, flow.receiver))
    has_timestamps = all(end["timestamps"] != "off" for end in ends)
    return HEADER_BYTES if has_timestamps or flow.algorithm == UDP else HEADER_BYTES - _TIMESTAMPS_BYTES


def segment_bytes(hosts: Hosts, flow: Flow) -> int:
    """Return the payload of a full packet: as given, else what fills a packet of 1500 bytes."""
    return _PACKET_BYTES - header_bytes(hosts, flow) if flow.segment is None else units.size(flow.segment)
