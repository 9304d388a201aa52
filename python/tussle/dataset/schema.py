"""The declaration of a dataset's tables: type and meaning of every column."""

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tussle.errors import TussleError, plain

FORMAT = 2
"""Version of the dataset's layout; a Tussle with a lower version cannot read it.

1: one file per table. 2: one file for each part of a table, for datasets of more than `RUNS_A_PART` runs
only.
"""

RUNS_A_PART = 10_000
"""Runs in each part of a table except the last: a constant, so that equal results are equal files."""

KERNEL_AXIS = "kernel"
"""The column of `runs` that names the kernel of each run, where several kernels executed every point."""


def parts_of(runs: int) -> list[range]:
    """Return the runs in each part of a dataset; there is one part, or more."""
    starts = range(0, max(runs, 1), RUNS_A_PART)
    return [range(start, min(start + RUNS_A_PART, runs)) for start in starts]


@dataclass(frozen=True)
class Column:
    """One column: its name ends in its unit if it has one."""

    name: str
    dtype: type[pl.DataType]
    meaning: str
    nulls: str | None = None
    """Meaning of an empty cell; `None`: there are no empty cells."""


@dataclass(frozen=True)
class MoreColumns:
    """Columns whose names depend on the scenario, after the declared ones; any cell may be empty."""

    dtype: type[pl.DataType]
    meaning: str


@dataclass(frozen=True)
class Table:
    """One table of a dataset."""

    name: str
    rows: str
    columns: tuple[Column, ...]
    more: MoreColumns | None = None

    @property
    def file_name(self) -> str:
        """Name of the table's file in the dataset's folder, if it has one part."""
        return f"{self.name}.parquet"

    def file_names(self, parts: int) -> list[str]:
        """Names of the table's files: one, or one for each part in a folder of the table's name."""
        if parts == 1:
            return [self.file_name]
        return [f"{self.name}/part-{part:05}.parquet" for part in range(parts)]

    def schema(self, more: Iterable[str] = ()) -> dict[str, pl.DataType]:
        """Types of the declared columns, then of those named in `more`."""
        return self._declared | (dict.fromkeys(more, self.more.dtype()) if self.more else {})

    @cached_property
    def _declared(self) -> dict[str, pl.DataType]:
        return {column.name: column.dtype() for column in self.columns}

    def more_names(self, names: Iterable[str]) -> list[str]:
        """Return the undeclared ones of `names`, sorted."""
        return sorted(set(names) - set(self._declared))

    def faults(self, schema: Mapping[str, pl.DataType]) -> list[str]:
        """Return the differences of a schema to this table's, in the words of an error message."""
        expected = self.schema(self.more_names(schema) if self.more else ())
        missing = [f"column {name} is missing" for name in expected if name not in schema]
        surplus = [f"column {plain(name)} is not known" for name in schema if name not in expected]
        wrong = [
            f"column {plain(name)} is {schema[name]} where {dtype} belongs"
            for name, dtype in expected.items()
            if name in schema and schema[name] != dtype
        ]
        return missing + surplus + wrong

    def conform(self, frame: pl.DataFrame) -> pl.DataFrame:
        """Return an engine's frame with this table's columns, in order and of the declared types.

        Raises TussleError when the frame does not fit this table.
        """
        found = {column.name: column for column in frame.get_columns()}
        wanted = self.schema(self.more_names(found) if self.more else ())
        try:
            # Engines count in narrower integers, and pass labels as categories.
            cast = {name: found[name].cast(dtype) for name, dtype in wanted.items() if name in found}
        except pl.exceptions.PolarsError as error:
            raise TussleError(f"the engine's table {self.name} does not fit: {error}") from error
        gaps = [
            f"column {column.name} has empty cells"
            for column in self.columns
            if column.nulls is None and column.name in cast and cast[column.name].null_count()
        ]
        if faults := self.faults({name: column.dtype for name, column in (found | cast).items()}) + gaps:
            raise TussleError(f"the engine's table {self.name} does not fit: {'; '.join(faults)}")
        return pl.DataFrame([cast[name] for name in wanted])


_RUN = Column("run", pl.UInt32, "Index of the run, from 0")
_FLOW = Column("flow", pl.UInt32, "Index of the flow in its run, from 0")
_TIME = Column("time_s", pl.Float64, "Simulated time since the run began")

RUNS = Table(
    "runs",
    "one row per run",
    (
        _RUN,
        Column("point", pl.UInt32, "Index of the point of the scenario: one combination of its axes' values"),
        Column("repetition", pl.UInt32, "Index of the repetition of the point, from 0"),
        Column(
            "seed", pl.UInt64, "Seed of all random numbers in the run; equal at all points for one repetition"
        ),
        Column("duration_s", pl.Float64, "Duration of the run"),
        Column("steady_from_s", pl.Float64, "Start of the steady interval, over which `flows` measures"),
        Column("steady_to_s", pl.Float64, "End of the steady interval"),
        Column(
            "link_rate_bit_per_s",
            pl.Float64,
            "Initial rate of the bottleneck, for IP packets",
            "no bottleneck",
        ),
        Column("base_rtt_ms", pl.Float64, "Initial RTT of the bottleneck without queueing", "no bottleneck"),
        Column(
            "buffer_packets",
            pl.UInt64,
            "Packets of 1500 bytes that may wait at the bottleneck",
            "no limit except the queue's default, or no bottleneck",
        ),
    ),
    MoreColumns(
        pl.String,
        "Value of an axis, as written; the column is named by its path in the scenario. Where several "
        "kernels executed every point, the column `kernel` names the one of the run. Where the scenario asks "
        "for baseline runs, the last column is `baseline`: the name of the flow that is alone",
    ),
)

FLOWS = Table(
    "flows",
    "one row per flow and run",
    (
        _RUN,
        _FLOW,
        Column("name", pl.String, "Name of the flow"),
        Column("algorithm", pl.String, "Congestion control, as read back from the engine"),
        Column("path", pl.String, "Elements from the sender to the receiver, joined by ` > `"),
        Column("start_s", pl.Float64, "Time at which the connection was opened"),
        Column(
            "stop_s", pl.Float64, "Time at which the application was to stop writing", "the end of the run"
        ),
        Column(
            "completion_s",
            pl.Float64,
            "Time from the start until the last byte reached the receiving application",
            "not complete at the end of the run",
        ),
        Column("delivered_bytes", pl.UInt64, "Bytes that reached the receiving application, in order"),
        Column(
            "sent_packets",
            pl.UInt64,
            "Data packets sent, retransmissions included",
            "not measured by the engine",
        ),
        Column(
            "retransmitted_packets", pl.UInt64, "Data packets retransmitted", "not measured by the engine"
        ),
        Column(
            "lost_packets",
            pl.UInt64,
            "Data packets that the sender detected as lost",
            "not measured by the engine",
        ),
        Column(
            "dropped_packets",
            pl.UInt64,
            "Data packets that the network dropped or damaged",
            "not measured by the engine",
        ),
        Column("timeouts", pl.UInt64, "Expiries of the retransmission timer", "not measured by the engine"),
        Column("spurious_timeouts", pl.UInt64, "Timeouts found to be spurious", "not measured by the engine"),
        Column("recoveries", pl.UInt64, "Episodes of fast recovery", "not measured by the engine"),
        Column(
            "undone_recoveries",
            pl.UInt64,
            "Recoveries found to be spurious and undone",
            "not measured by the engine",
        ),
        Column("ecn_echoes", pl.UInt64, "ACKs that carried ECN-Echo", "not measured by the engine"),
        Column("steady_delivered_bytes", pl.UInt64, "As delivered_bytes, in the steady interval"),
        Column("goodput_bit_per_s", pl.Float64, "steady_delivered_bytes in bits, over the steady interval"),
        Column(
            "steady_sent_packets",
            pl.UInt64,
            "As sent_packets, in the steady interval",
            "not measured by the engine",
        ),
        Column(
            "steady_retransmitted_packets",
            pl.UInt64,
            "As retransmitted_packets, in the steady interval",
            "not measured by the engine",
        ),
        Column(
            "steady_timeouts", pl.UInt64, "As timeouts, in the steady interval", "not measured by the engine"
        ),
        Column(
            "steady_rwnd_limited_s",
            pl.Float64,
            "Time in the steady interval in which the receive window limited the sender",
            "not measured by the engine",
        ),
        Column(
            "steady_sndbuf_limited_s",
            pl.Float64,
            "Time in the steady interval in which the send buffer limited the sender",
            "not measured by the engine",
        ),
        *(
            Column(f"rtt_{part}_ms", pl.Float64, f"{words} in the steady interval", "no RTT was measured")
            for part, words in [
                ("min", "Smallest RTT"),
                ("mean", "Mean RTT"),
                ("p05", "5th percentile of the RTT"),
                ("p25", "25th percentile of the RTT"),
                ("p50", "Median RTT"),
                ("p75", "75th percentile of the RTT"),
                ("p95", "95th percentile of the RTT"),
                ("p99", "99th percentile of the RTT"),
            ]
        ),
    ),
)

SAMPLES = Table(
    "samples",
    "one row per flow and instant",
    (
        _RUN,
        _FLOW,
        _TIME,
        Column("cwnd_packets", pl.UInt32, "Congestion window"),
        Column("ssthresh_packets", pl.UInt32, "Slow-start threshold", "infinite"),
        Column("srtt_ms", pl.Float64, "Smoothed RTT", "no RTT measured yet"),
        Column(
            "rtt_ms", pl.Float64, "Latest RTT measured", "no RTT measured yet, or not measured by the engine"
        ),
        Column("in_flight_packets", pl.UInt32, "Packets in flight, as estimated by the sender"),
        Column("delivered_bytes", pl.UInt64, "Bytes that have reached the receiving application in order"),
        Column("retransmitted_packets", pl.UInt64, "Data packets retransmitted so far"),
        Column("pacing_bit_per_s", pl.Float64, "Pacing rate", "the flow is not paced"),
        Column("state", pl.String, "State of the sender: open, disorder, cwr, recovery or loss"),
    ),
    MoreColumns(pl.Float64, "State variable of an algorithm; the column is named `algorithm.quantity`"),
)

LINKS = Table(
    "links",
    "one row per link and instant",
    (
        _RUN,
        Column("link", pl.String, "Name of the link"),
        _TIME,
        Column("backlog_packets", pl.UInt32, "Packets in the queue, without the one being transmitted"),
        Column("backlog_bytes", pl.UInt64, "Bytes of those packets"),
        Column("mean_backlog_packets", pl.Float64, "Mean backlog since the link's last row"),
        Column("max_backlog_packets", pl.UInt32, "Largest backlog since the link's last row"),
        Column("arrived_packets", pl.UInt64, "Packets that arrived so far"),
        Column("delivered_packets", pl.UInt64, "Packets transmitted so far"),
        Column("dropped_packets", pl.UInt64, "Packets dropped so far"),
        Column("marked_packets", pl.UInt64, "Packets marked by ECN so far"),
        Column("delivered_bytes", pl.UInt64, "Bytes transmitted so far, IP headers included"),
        Column(
            "utilisation",
            pl.Float64,
            "Fraction of the time since the link's last row in which it transmitted, 0 to 1",
        ),
    ),
)

EVENTS = Table(
    "events",
    "one row per event",
    (
        _RUN,
        _TIME,
        Column(
            "kind",
            pl.String,
            "Kind of event. Of a flow: start, stop, complete (its last byte arrived), disconnect, request "
            "and response (a chunk or a response was written, its last byte arrived). Of a sender: recovery "
            "and recovered (the repair of losses began and ended), timeout, undo (a reduction was spurious), "
            "reduction (without a loss), restart (after idle time), probe (a tail loss probe was sent). Of "
            "the network: drop, corrupt (a damaged packet arrived), path_change",
        ),
        Column("flow", pl.UInt32, "Index of the flow", "no single flow"),
        Column("link", pl.String, "Element of the event", "at the sender"),
        Column("packet", pl.UInt32, "Index of the packet in its flow, from 0", "no single packet"),
        Column("cwnd_packets", pl.UInt32, "Congestion window just after", "no sender"),
        Column("ssthresh_packets", pl.UInt32, "Slow-start threshold just after", "infinite, or no sender"),
    ),
)

VALIDITY = Table(
    "validity",
    "one row per flow and run, where real hosts were measured",
    (
        _RUN,
        _FLOW,
        Column("host", pl.String, "The sender's host, by its own name or its name in hosts.toml"),
        Column("kernel", pl.String, "Release of the sender's kernel", "the host was lost"),
        Column(
            "receiver_host",
            pl.String,
            "The receiver's host, by its own name or its name in hosts.toml",
            "not reported by the receiver",
        ),
        Column(
            "receiver_kernel", pl.String, "Release of the receiver's kernel", "not reported by the receiver"
        ),
        Column("algorithm", pl.String, "Congestion control, as read back from the sender's socket"),
        Column(
            "interface",
            pl.String,
            "Interface by which the sender's packets leave",
            "not reported by the kernel",
        ),
        Column("qdisc", pl.String, "Queue discipline of that interface", "not reported by the kernel"),
        Column(
            "offloads",
            pl.String,
            "Active offloads at that interface, of tso, gso, gro and lro",
            "not reported by the interface",
        ),
        Column("path_mtu_bytes", pl.UInt32, "Path MTU at the end", "not reported by the kernel"),
        Column(
            "clock_offset_s",
            pl.Float64,
            "Offset of the sender's time of day to the receiver's",
            "there is one clock",
        ),
        Column("clock_offset_error_s", pl.Float64, "Largest error of that offset", "there is one clock"),
        Column("busy_s", pl.Float64, "Time with data to send or to be acknowledged", "the host was lost"),
        Column(
            "receiver_limited_s",
            pl.Float64,
            "Part of busy_s limited by the receive window",
            "the host was lost",
        ),
        Column(
            "sender_limited_s",
            pl.Float64,
            "Part of busy_s limited by the application's writes",
            "the host was lost",
        ),
        Column(
            "cpu_share",
            pl.Float64,
            "Used fraction of the CPU time of the sender's host, without niced processes, 0 to 1",
            "the host was lost",
        ),
        Column(
            "timer_slip_p99_ms",
            pl.Float64,
            "99th percentile of timer delays on that host",
            "the host was lost",
        ),
        Column("timer_slip_max_ms", pl.Float64, "Largest timer delay on that host", "the host was lost"),
        Column("kept_up", pl.Boolean, "Whether both hosts kept up"),
        Column("shortfall", pl.String, "Reason why a host did not keep up", "both kept up"),
    ),
)

TABLES = {table.name: table for table in (RUNS, FLOWS, SAMPLES, LINKS, EVENTS)}
"""Every table of each dataset, by name."""

OPTIONAL_TABLES = {table.name: table for table in (VALIDITY,)}
"""Tables of a dataset whose engine fills them, for each run."""

ENGINE_TABLES = {name: table for name, table in TABLES.items() if table is not RUNS}
"""The tables that an engine fills; the sweep writes `runs`."""
