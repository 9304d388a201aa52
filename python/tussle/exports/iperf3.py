"""A flow in the format of `iperf3 --json`.

The format is that of iperf 3.9 for one TCP stream. Bytes are those that reached the receiving application.
Values that Tussle does not know are left out (`rttvar`), or 0 where readers such as the Python package
`iperf3` need them (ports, block size, processor time). Times are simulated: they begin at the epoch.
"""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import polars as pl

from tussle.errors import TussleError
from tussle.exports._files import understood
from tussle.exports._flow import SERIES, FlowSeries, checked

_EPOCH = "Thu, 01 Jan 1970 00:00:00 UTC"
_HOST = "simulated"
_SOCKET = 5
"""The socket number that iperf3 usually gives its first stream."""
_PROCESSORS = [f"{side}_{part}" for side in ("host", "remote") for part in ("total", "user", "system")]
_DIGITS = 6
"""Decimal places of seconds, as in the output of iperf3."""


def write_iperf3(series: FlowSeries, path: Path) -> None:
    """Write the JSON of one stream."""
    path.write_text(json.dumps(_document(series), indent="\t") + "\n", encoding="utf-8")


def read_iperf3(path: Path | str) -> FlowSeries:
    """Read a file of iperf3 with one stream that it sent; its omitted intervals are left out.

    Raises TussleError for any other file.
    """
    path = Path(path)
    with understood(path, "iperf3 --json"):
        document = json.loads(path.read_bytes())
        streams = max(len(interval["streams"]) for interval in document["intervals"])
        if streams != 1:
            raise TussleError(f"{path} has {streams} streams; give a file with one (-P 1)")
        rows = [_row(interval) for interval in document["intervals"] if not interval["sum"].get("omitted")]
        start, end = document["start"], document["end"]
        title = f"iperf3 to {start.get('connecting_to', {}).get('host', 'a server')}"
        return FlowSeries(
            str(end.get("sender_tcp_congestion", "")),
            str(start.get("title", title)),
            str(start.get("version", "iperf3")),
            start.get("tcp_mss_default"),
            checked(pl.DataFrame(rows, schema=SERIES)),
        )


def _row(interval: dict[str, Any]) -> dict[str, Any]:
    (stream, *_) = interval["streams"]
    rtt_us = stream.get("rtt")
    return {
        "time_s": float(stream["end"]),
        "interval_s": float(stream["seconds"]),
        "delivered_bytes": stream["bytes"],
        "retransmitted_packets": stream.get("retransmits"),
        "cwnd_bytes": stream.get("snd_cwnd"),
        "rtt_ms": None if rtt_us is None else rtt_us / 1e3,
    }


def _document(series: FlowSeries) -> dict[str, Any]:
    intervals = [_interval(row, series) for row in series.table.iter_rows(named=True)]
    length_s = float(series.table["time_s"][-1])
    return {
        "start": {
            "connected": [
                {
                    "socket": _SOCKET,
                    "local_host": _HOST,
                    "local_port": 0,
                    "remote_host": _HOST,
                    "remote_port": 0,
                }
            ],
            "version": series.tool,
            "system_info": series.tool,
            "timestamp": {"time": _EPOCH, "timesecs": 0},
            "connecting_to": {"host": _HOST, "port": 0},
            "title": series.title,
            "tcp_mss_default": series.segment_bytes,
            "test_start": {
                "protocol": "TCP",
                "num_streams": 1,
                "blksize": 0,
                "omit": 0,
                "duration": length_s,
                "bytes": 0,
                "blocks": 0,
                "reverse": 0,
                "tos": 0,
            },
        },
        "intervals": [{"streams": [each], "sum": _sum(each)} for each in intervals],
        "end": _end(series, length_s),
    }


def _interval(row: dict[str, Any], series: FlowSeries) -> dict[str, Any]:
    pmtu = None if series.segment_bytes is None else series.segment_bytes + series.header_bytes
    known = {
        "retransmits": row["retransmitted_packets"],
        "snd_cwnd": row["cwnd_bytes"],
        "rtt": _us(row["rtt_ms"]),
        "pmtu": pmtu,
    }
    begins_s = max(row["time_s"] - row["interval_s"], 0.0)
    return (
        {"socket": _SOCKET}
        | _span(begins_s, row["time_s"], row["delivered_bytes"])
        | {name: value for name, value in known.items() if value is not None}
        | {"omitted": False, "sender": True}
    )


def _sum(stream: dict[str, Any]) -> dict[str, Any]:
    summed = ("start", "end", "seconds", "bytes", "bits_per_second", "retransmits", "omitted", "sender")
    return {name: stream[name] for name in summed if name in stream}


def _end(series: FlowSeries, length_s: float) -> dict[str, Any]:
    table = series.table
    span = _span(0.0, length_s, int(table["delivered_bytes"].sum()))
    retransmitted = (
        None if table["retransmitted_packets"].null_count() else int(table["retransmitted_packets"].sum())
    )
    sent = span | ({} if retransmitted is None else {"retransmits": retransmitted})
    extremes = {
        "max_snd_cwnd": table["cwnd_bytes"].max(),
        "max_rtt": _us(table["rtt_ms"].max()),
        "min_rtt": _us(table["rtt_ms"].min()),
        "mean_rtt": _us(table["rtt_ms"].mean()),
    }
    known = {name: value for name, value in extremes.items() if value is not None}
    return {
        "streams": [
            {
                "sender": {"socket": _SOCKET} | sent | known | {"sender": True},
                "receiver": {"socket": _SOCKET} | span | {"sender": True},
            }
        ],
        "sum_sent": sent | {"sender": True},
        "sum_received": span | {"sender": True},
        "cpu_utilization_percent": dict.fromkeys(_PROCESSORS, 0),
        "sender_tcp_congestion": series.algorithm,
    }


def _span(begin_s: float, end_s: float, size_bytes: int) -> dict[str, Any]:
    seconds = end_s - begin_s
    return {
        "start": round(begin_s, _DIGITS),
        "end": round(end_s, _DIGITS),
        "seconds": seconds,
        "bytes": size_bytes,
        "bits_per_second": size_bytes * 8 / seconds,
    }


def _us(ms: Any) -> int | None:
    return None if ms is None else round(ms * 1e3)
