"""The formats, by name."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from tussle.errors import TussleError, unknown
from tussle.exports._csv import without_formulas
from tussle.exports._flow import FlowSeries
from tussle.exports.flent import write_flent
from tussle.exports.iperf3 import write_iperf3
from tussle.exports.latex import write_latex
from tussle.exports.mahimahi import QueueLog, write_mahimahi
from tussle.exports.pcapng import RunPackets, write_pcapng


@dataclass(frozen=True)
class TableFormat:
    """A way to write a table."""

    name: str
    suffix: str
    write: Callable[[pl.LazyFrame, Path], None]


@dataclass(frozen=True)
class FlowFormat:
    """A way to write one flow over time."""

    name: str
    suffix: str
    write: Callable[[FlowSeries, Path], None]


@dataclass(frozen=True)
class PacketFormat:
    """A way to write the packets of a run."""

    name: str
    suffix: str
    write: Callable[[RunPackets, Path], None]


@dataclass(frozen=True)
class QueueLogFormat:
    """A way to write the packets of a link."""

    name: str
    suffix: str
    write: Callable[[QueueLog, Path], None]


def _write_csv(table: pl.LazyFrame, path: Path) -> None:
    without_formulas(table).sink_csv(path, maintain_order=True)


def _write_parquet(table: pl.LazyFrame, path: Path) -> None:
    table.sink_parquet(path, maintain_order=True)


def _write_json(table: pl.LazyFrame, path: Path) -> None:
    table.collect().write_json(path)


TABLE_FORMATS = {
    each.name: each
    for each in (
        TableFormat("csv", ".csv", _write_csv),
        TableFormat("parquet", ".parquet", _write_parquet),
        TableFormat("json", ".json", _write_json),
        TableFormat("latex", ".tex", write_latex),
    )
}
"""Formats of tables and metrics, by name."""

FLOW_FORMATS = {
    each.name: each
    for each in (
        FlowFormat("flent", ".flent.gz", write_flent),
        FlowFormat("iperf3", ".json", write_iperf3),
    )
}
"""Formats of one flow, by name."""

PACKET_FORMATS = {"pcapng": PacketFormat("pcapng", ".pcapng", write_pcapng)}
"""Formats of the packets of a run, by name."""

QUEUE_LOG_FORMATS = {"mahimahi": QueueLogFormat("mahimahi", ".log", write_mahimahi)}
"""Formats of the packets of a link, by name."""

FORMATS = {**TABLE_FORMATS, **FLOW_FORMATS, **PACKET_FORMATS, **QUEUE_LOG_FORMATS}


def format_of(
    name: str | None, path: Path | None
) -> TableFormat | FlowFormat | PacketFormat | QueueLogFormat:
    """Return the format by its name, else by the suffix of the file's name, else CSV.

    Raises TussleError for an unknown name or suffix.
    """
    if name is not None:
        if name not in FORMATS:
            raise TussleError(f"--format: {unknown('format', name, FORMATS)}")
        return FORMATS[name]
    if path is None:
        return FORMATS["csv"]
    for known in FORMATS.values():
        if path.name.endswith(known.suffix):
            return known
    suffixes = ", ".join(dict.fromkeys(known.suffix for known in FORMATS.values()))
    raise TussleError(f"{path.name} ends in none of {suffixes}; give such a name, or --format")
