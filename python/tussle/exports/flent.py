"""A flow in flent's format: a data file of its test `tcp_upload`, which flent can plot.

The format is version 4, as flent 2.3 reads it: `metadata`, `x_values`, `results` with a value for each series
and x, and `raw_values`. Times are simulated: they begin at the epoch.
"""

from __future__ import annotations

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl

from tussle.errors import TussleError
from tussle.exports._files import understood
from tussle.exports._flow import SERIES, FlowSeries, checked

_FORMAT = 4
_EPOCH = "1970-01-01T00:00:00.000000Z"
_RATE, _RTT = "TCP upload", "Ping (ms) ICMP"
"""The series of the test `tcp_upload`: Mbit/s, and ms."""
_MOST_TITLE = 60
"""Characters that fit above flent's plots."""
_CWND, _RETRANSMITTED = "TCP upload::tcp_cwnd", "TCP upload::tcp_retransmitted"


def write_flent(series: FlowSeries, path: Path) -> None:
    """Write a `.flent.gz`; the RTT is that of the flow, not of flent's pings."""
    text = json.dumps(_document(series), indent=2, sort_keys=True)
    # Equal series give equal bytes: the archive has neither time nor name.
    path.write_bytes(gzip.compress(text.encode(), mtime=0))


def read_flent(path: Path | str) -> FlowSeries:
    """Read a flow of a `.flent.gz`: its series `TCP upload` or `TCP download`, and the RTT beside it.

    Raises TussleError when the file is not such a file.
    """
    path = Path(path)
    with understood(path, "flent"):
        raw = path.read_bytes()
        return _series(json.loads(gzip.decompress(raw) if path.name.endswith(".gz") else raw), path)


def _series(document: dict[str, Any], path: Path) -> FlowSeries:
    metadata, results = document["metadata"], document["results"]
    rate = next((name for name in (_RATE, "TCP download") if name in results), None)
    if rate is None:
        raise TussleError(
            f"{path} has no flow, but {', '.join(results) or 'nothing'}; give a file of tcp_upload or "
            "tcp_download"
        )
    ends_s = [float(x) for x in document["x_values"]]
    empty = [None] * len(ends_s)
    columns = {
        "rate": results[rate],
        "rtt_ms": results.get(_RTT, empty),
        "cwnd_packets": results.get(_CWND, empty),
        "retransmitted_packets": results.get(_RETRANSMITTED, empty),
    }
    interval_s = pl.col("time_s") - pl.col("time_s").shift(fill_value=0.0)
    segment_bytes = metadata.get("SEGMENT_BYTES")
    table = (
        pl.DataFrame(
            {"time_s": ends_s, **columns}, schema_overrides={"rate": pl.Float64, "cwnd_packets": pl.UInt64}
        )
        .with_columns(
            interval_s.alias("interval_s"),
            (pl.col("cwnd_packets") * pl.lit(segment_bytes, dtype=pl.UInt64)).alias("cwnd_bytes"),
        )
        .with_columns((pl.col("rate") * 1e6 / 8 * pl.col("interval_s")).round().alias("delivered_bytes"))
        .filter(pl.col("interval_s") > 0)
    )
    return FlowSeries(
        str(metadata.get("CONGESTION_CONTROL", "")),
        str(metadata.get("TUSSLE_TITLE") or metadata.get("TITLE") or metadata["NAME"]),
        f"flent {metadata.get('FLENT_VERSION', '')}".strip()
        if "TUSSLE" not in metadata
        else metadata["TUSSLE"],
        segment_bytes,
        checked(table.select(list(SERIES)).cast(SERIES)),
    )


def _document(series: FlowSeries) -> dict[str, Any]:
    table = series.table
    length_s = float(table["time_s"][-1])
    rates = (table["delivered_bytes"] * 8 / 1e6 / table["interval_s"]).to_list()
    values = {
        _RATE: rates,
        _RTT: table["rtt_ms"].to_list(),
        _CWND: _packets(table["cwnd_bytes"], series.segment_bytes),
        _RETRANSMITTED: table["retransmitted_packets"].to_list(),
    }
    ends_s = table["time_s"].to_list()
    return {
        "version": _FORMAT,
        "metadata": {
            "NAME": "tcp_upload",
            "TITLE": _shortened(series.title),
            "TUSSLE_TITLE": series.title,
            "NOTE": f"{series.title}; written by {series.tool}; simulated time begins at the epoch.",
            "TUSSLE": series.tool,
            "CONGESTION_CONTROL": series.algorithm,
            "SEGMENT_BYTES": series.segment_bytes,
            "TIME": _EPOCH,
            "T0": _EPOCH,
            "LENGTH": length_s,
            "TOTAL_LENGTH": length_s,
            "STEP_SIZE": length_s / table.height,
            "HOST": "simulated",
            "HOSTS": ["simulated"],
            "LOCAL_HOST": "simulated",
            "SERIES_META": {
                _RATE: {"UNITS": "Mbits/s"},
                _RTT: {"UNITS": "ms"},
                _CWND: {"UNITS": "packets"},
                _RETRANSMITTED: {"UNITS": "packets"},
            },
        },
        "x_values": ends_s,
        "results": values,
        "raw_values": {
            _RATE: _raw(ends_s, {"val": rates, "tcp_cwnd": values[_CWND], "tcp_rtt": values[_RTT]}),
            _RTT: _raw(ends_s, {"val": values[_RTT]}),
        },
    }


def _shortened(title: str) -> str:
    """Keep the end of a long title, which has the run and the flow."""
    if len(title) <= _MOST_TITLE:
        return title
    return "…" + title[1 - _MOST_TITLE :].partition(" ")[2]


def _packets(cwnd_bytes: pl.Series, segment_bytes: int | None) -> list[int | None]:
    """Return windows in packets, the unit of `ss` and flent."""
    return [None] * len(cwnd_bytes) if segment_bytes is None else (cwnd_bytes // segment_bytes).to_list()


def _raw(ends_s: list[float], columns: dict[str, list[Any]]) -> list[dict[str, float]]:
    rows = zip(*columns.values(), strict=True)
    return [
        {"t": end_s} | {name: value for name, value in zip(columns, row, strict=True) if value is not None}
        for end_s, row in zip(ends_s, rows, strict=True)
    ]
