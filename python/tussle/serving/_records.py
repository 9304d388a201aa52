"""The files of a server: their declaration, and reading them."""

from collections.abc import Iterator
from pathlib import Path

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES
from tussle.dataset.files import UNREADABLE
from tussle.dataset.schema import Column, Table
from tussle.errors import TussleError
from tussle.serving._vetting import Received

_UNKNOWN = "unknown"
_FLOWS = Table(
    "flows",
    "one per flow",
    (
        Column("flow", pl.UInt32, "Index of the flow, from 0"),
        Column("name", pl.String, "Name of the flow"),
        Column("algorithm", pl.String, "Congestion control"),
        Column("direction", pl.String, "`forward` or `reverse`"),
        Column("start_s", pl.Float64, "Start of the flow"),
        Column("stop_s", pl.Float64, "Time at which its application was to stop", "a number of bytes"),
        Column("end_s", pl.Float64, "End of the flow", "under way"),
        Column("complete_s", pl.Float64, "Arrival of the last of its bytes", "not complete"),
        Column("ended", pl.String, "`complete`, `stopped`, `lost` or `under way`"),
        Column("delivered_bytes", pl.UInt64, "Bytes that arrived"),
        Column("arrived_packets", pl.UInt64, "Packets that arrived"),
        Column("sent_packets", pl.UInt64, "Packets that were sent"),
        Column("retransmitted_packets", pl.UInt64, "Packets that were retransmitted"),
        Column("timeouts", pl.UInt32, "Retransmission timeouts", _UNKNOWN),
        Column("contradiction", pl.String, "Contradiction between its client and the server, or nothing"),
    ),
)
_SAMPLES = Table(
    "samples",
    "one per flow and instant",
    (
        *ENGINE_TABLES["samples"].columns[1:],
        Column("tcp_info.min_rtt_ms", pl.Float64, "Shortest RTT", _UNKNOWN),
        Column("tcp_info.sent_packets", pl.Float64, "Packets that were sent"),
        Column("tcp_info.timeouts", pl.Float64, "Retransmission timeouts", _UNKNOWN),
        Column("client.claimed_bytes", pl.Float64, "Bytes that the client claims", "no claim"),
        Column("probe.rtt_ms", pl.Float64, "RTT of the client's probe", _UNKNOWN),
        Column("probe.idle_rtt_ms", pl.Float64, "RTT of the probe before the flows began", _UNKNOWN),
    ),
    ENGINE_TABLES["samples"].more,
)
_VALIDITY = Table("validity", "one per flow", OPTIONAL_TABLES["validity"].columns[1:])


def read_records(partial: Path) -> tuple[Received, list[str]]:
    """Read the files of a server, and name the damaged files of samples, which are left out.

    After a power cut, the latest file may be empty. Raises TussleError when there is no flow, or another file
    is damaged.
    """
    if not (partial / "flows.arrow").exists():
        raise TussleError(f"{partial} contains no flow, so that no dataset can be made")
    try:
        flows, validity = _read(partial / "flows.arrow"), _read(partial / "validity.arrow")
        if "contradiction" not in flows.columns:
            # Earlier servers did not look for any.
            flows = flows.with_columns(contradiction=pl.lit(""))
        flows, validity = _FLOWS.conform(flows), _VALIDITY.conform(validity)
        samples, left_out = _samples(partial)
        if fault := next(_twice(flows, validity, samples), None):
            raise TussleError(fault)
    except (TussleError, *UNREADABLE) as error:
        raise TussleError(f"{partial} is damaged ({error}); remove it") from error
    return Received(flows, samples.sort("time_s", "flow"), validity), left_out


def _samples(partial: Path) -> tuple[pl.DataFrame, list[str]]:
    chunks, left_out = [pl.DataFrame(schema=_SAMPLES.schema())], []
    for file in sorted(partial.glob("samples-*.arrow")):
        stored = file.read_bytes()
        try:
            chunks.append(_SAMPLES.conform(pl.read_ipc_stream(stored)))
        except (TussleError, *UNREADABLE) as error:
            reason = str(error).splitlines()[0]
            left_out.append(f"{file.name} is left out: it is damaged ({reason})")
    return pl.concat(chunks, how="diagonal"), left_out


def _read(file: Path) -> pl.DataFrame:
    if not file.is_file():
        raise TussleError(f"{file.name} is missing, or not a plain file")
    return pl.read_ipc_stream(file)


def _twice(flows: pl.DataFrame, validity: pl.DataFrame, samples: pl.DataFrame) -> Iterator[str]:
    """Report rows of the same flow, or of the same flow and instant."""
    for name, rows in (
        ("flows", flows.select("flow")),
        ("validity", validity.select("flow")),
        ("samples", samples.select("flow", "time_s")),
    ):
        if rows.is_duplicated().any():
            yield f"{name} has a row twice"
