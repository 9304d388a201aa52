"""Exports: tables and metrics as files for other programs, and one flow in the formats of other tools.

Each file is written whole or not at all.
"""

from tussle.exports._csv import without_formulas
from tussle.exports._files import whole_file
from tussle.exports._flow import FlowSeries, flow_series
from tussle.exports._formats import (
    FLOW_FORMATS,
    FORMATS,
    PACKET_FORMATS,
    QUEUE_LOG_FORMATS,
    TABLE_FORMATS,
    FlowFormat,
    PacketFormat,
    QueueLogFormat,
    TableFormat,
    format_of,
)
from tussle.exports._headers import header_bytes
from tussle.exports._tables import WHATS, exported_table, summary_table
from tussle.exports.flent import read_flent
from tussle.exports.iperf3 import read_iperf3
from tussle.exports.mahimahi import QueueLog
from tussle.exports.pcapng import RunPackets

__all__ = [
    "FLOW_FORMATS",
    "FORMATS",
    "PACKET_FORMATS",
    "QUEUE_LOG_FORMATS",
    "TABLE_FORMATS",
    "WHATS",
    "FlowFormat",
    "FlowSeries",
    "PacketFormat",
    "QueueLog",
    "QueueLogFormat",
    "RunPackets",
    "TableFormat",
    "exported_table",
    "flow_series",
    "format_of",
    "header_bytes",
    "read_flent",
    "read_iperf3",
    "summary_table",
    "whole_file",
    "without_formulas",
]
