"""Conversion of a server's files to a dataset."""

import math
import shlex
import shutil
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import polars as pl
from filelock import FileLock, Timeout

import tussle
from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES, TABLES, Contents, Dataset, flows_frame, save
from tussle.dataset.files import explained
from tussle.errors import TussleError
from tussle.provenance import Origin, provenance
from tussle.scenario import Scenario
from tussle.serving._records import read_records
from tussle.serving._vetting import Received, vetted
from tussle.units import RATE, rate

_NS = 1_000_000_000
_GRID_S = 0.1
"""Interval between two rows of a flow."""
_LEAST_RATE_BIT_PER_S = 1000
_MOST_RATE_BIT_PER_S = rate(RATE.most)
_LEAST_RTT_MS = 0.01
_MOST_RTT_MS = 200_000
"""Ranges of a scenario's settings."""
_TURN = "turn"
"""The axis of a dataset with several groups of flows."""
_LOCK = "lock"
_QUESTION = "What did each client get?"
_QUANTILES = (0.05, 0.25, 0.5, 0.75, 0.95, 0.99)
"""Quantiles of the RTT in the table of flows."""


class Conversion(NamedTuple):
    """A dataset, and sentences about implausible or omitted parts."""

    dataset: Dataset
    doubts: list[str]


class _Recorded(NamedTuple):
    """Flows and their samples; times count from the start of the first of these flows."""

    flows: pl.DataFrame
    samples: pl.DataFrame
    end_s: float


def partial_folder(folder: Path) -> Path:
    """Return the folder in which the server writes until `folder` is complete."""
    return folder.with_name(f"{folder.name}.partial")


@contextmanager
def holding(folder: Path) -> Iterator[Path]:
    """Keep the partial folder, made if it is missing, for this process alone.

    The folder is removed with its last file. Raises TussleError when another process uses it.
    """
    partial = partial_folder(folder)
    with explained(partial):
        partial.mkdir(parents=True, exist_ok=True)
        try:
            lock = FileLock(partial / _LOCK).acquire(timeout=0)
        except Timeout:
            raise TussleError(
                f"another process is writing {partial}; wait for it, or give another output folder (-o)"
            ) from None
    with lock:
        try:
            yield partial
        finally:
            if partial.is_dir() and {other.name for other in partial.iterdir()} <= {_LOCK}:
                shutil.rmtree(partial, ignore_errors=True)


def write_dataset(folder: Path, facts: Mapping[str, Any]) -> Conversion:
    """Make the dataset `folder` from the server's partial folder, which is then removed.

    `facts` go into the provenance, together with implausible values: a flow with impossible numbers is left
    out. Raises TussleError when there is nothing to convert, or the dataset cannot be written.
    """
    partial = partial_folder(folder)
    records, damaged = read_records(partial)
    received, implausible = vetted(records)
    left_out = damaged + implausible
    if received.flows.is_empty():
        raise TussleError(
            f"{partial} contains no flow that can be measured: {'; '.join(left_out)}; remove it"
        )
    written, validity = _written(received), received.validity
    scenario = _scenario(written)
    turns = [_Turn(index, each) for index, each in enumerate(_turns(written))]
    engine = {"name": "serve", "version": tussle.__version__}
    origin = Origin(scenario.to_toml(), scenario.seed, engine)
    about = provenance(origin, folder) | {
        "command": shlex.join(["tussle", "serve", "-o", str(folder)]),
        **facts,
    }
    contradictions = _contradictions(received.flows)
    about |= {"left_out": left_out} if left_out else {}
    about |= {"contradictions": contradictions} if contradictions else {}
    tables = {name: table.lazy() for name, table in _tables(turns, validity).items()}
    save(folder, Contents(origin.scenario_toml, about, tables))
    shutil.rmtree(partial, ignore_errors=True)
    return Conversion(Dataset.open(folder), [*left_out, *contradictions])


def _contradictions(flows: pl.DataFrame) -> list[str]:
    named = flows.filter(pl.col("contradiction") != "").select("name", "contradiction")
    return [
        f"{name}: {contradiction}; the server's observation counts"
        for name, contradiction in named.iter_rows()
    ]


class _Turn:
    """Flows that overlap in time, directly or through others: one run of the dataset."""

    def __init__(self, index: int, written: _Recorded) -> None:
        run = _scenario(written).points()[0].resolve(seed=0)
        self.written = written
        self.index = index
        # The interval begins and ends at rows, so that the delivered bytes of its bounds are known.
        from_s = round(run["steady"]["from_ns"] / _NS, 1)
        self.steady_s = (from_s, max(round(run["steady"]["to_ns"] / _NS, 1), round(from_s + _GRID_S, 1)))
        self.duration_s = max(run["duration_ns"] / _NS, self.steady_s[1])

    def row(self) -> dict[str, Any]:
        """Return its row of `runs`."""
        return {
            "run": self.index,
            "point": self.index,
            "repetition": 0,
            "seed": 0,
            "duration_s": self.duration_s,
            "steady_from_s": self.steady_s[0],
            "steady_to_s": self.steady_s[1],
            # The network is measured: its rate, its delay and its queue are unknown.
            "link_rate_bit_per_s": None,
            "base_rtt_ms": None,
            "buffer_packets": None,
            _TURN: str(self.index + 1),
        }


def _turns(written: _Recorded) -> Iterator[_Recorded]:
    """Split the flows at times when none was active: groups do not affect each other."""
    flows = written.flows.with_columns(until_s=pl.col("end_s").fill_null(written.end_s)).sort(
        "start_s", "flow"
    )
    before = pl.col("until_s").cum_max().shift(1)
    numbered = flows.with_columns(turn=(pl.col("start_s") >= before).fill_null(value=False).cum_sum())
    for turn in numbered.partition_by("turn", maintain_order=True):
        began_s = _on_grid(turn["start_s"])
        chosen = turn.drop("turn", "until_s").sort("flow")
        samples = written.samples.filter(pl.col("flow").is_in(chosen["flow"].to_list()))
        yield _since(began_s, _Recorded(chosen, samples, _last_s(turn["until_s"], turn, samples)))


def _since(began_s: float, written: _Recorded) -> _Recorded:
    """Count times from `began_s` on."""
    times = [pl.col(name) - began_s for name in ("start_s", "stop_s", "end_s", "complete_s")]
    samples = written.samples.with_columns((pl.col("time_s") - began_s).round(1))
    return _Recorded(written.flows.with_columns(times), samples, written.end_s - began_s)


def _on_grid(starts: pl.Series) -> float:
    """Return the tenth of a second before the first start, so that rows stay on whole tenths."""
    return math.floor(min(starts) / _GRID_S) * _GRID_S


def _last_s(ends: pl.Series, flows: pl.DataFrame, samples: pl.DataFrame) -> float:
    """Return the latest time of the ends and rows; a flow that has just started has neither yet."""
    times: list[Any] = [ends.max(), samples["time_s"].max(), (flows["start_s"] + _GRID_S).max()]
    return max(time for time in times if time is not None)


def _written(received: Received) -> _Recorded:
    flows, samples, _ = received
    end_s = _last_s(flows["end_s"], flows, samples)
    return _since(_on_grid(flows["start_s"]), _Recorded(flows, samples, end_s))


def _scenario(written: _Recorded) -> Scenario:
    """Describe the measurement as a scenario, so that the simulator can execute it.

    The rate of the path is the highest rate of all flows together over a second, and its delay the shortest
    RTT.
    """
    duration_s = max(written.end_s, 2 * _GRID_S)
    bit_per_s = max(_highest_rate(written.samples), _LEAST_RATE_BIT_PER_S)
    rtts = written.samples.select(pl.col("srtt_ms").min(), pl.col("probe.rtt_ms").min()).row(0)
    rtt_ms = max(min([rtt for rtt in rtts if rtt is not None], default=_LEAST_RTT_MS), _LEAST_RTT_MS)
    path = {
        "rate": f"{min(bit_per_s, _MOST_RATE_BIT_PER_S):.0f} bit/s",
        "rtt": f"{min(rtt_ms, _MOST_RTT_MS):.3f} ms",
    }
    flows = []
    for row in written.flows.iter_rows(named=True):
        flow = {"name": row["name"], "algorithm": row["algorithm"], "start": _time(row["start_s"])}
        if row["direction"] == "reverse":
            flow["direction"] = "reverse"
        ended_s = row["end_s"]
        if ended_s is not None and row["start_s"] < ended_s < duration_s:
            flow["stop"] = _time(ended_s)
        flows.append(flow)
    return Scenario.from_dict(
        {
            "question": _QUESTION,
            "duration": _time(duration_s),
            "path": path,
            "flows": flows,
        }
    )


def _time(seconds: float) -> str:
    return f"{seconds:.6f} s"


def _highest_rate(samples: pl.DataFrame) -> float:
    """Return the bits per second of all flows together in their best second."""
    second = pl.col("time_s").floor().cast(pl.Int64).alias("second")
    until = pl.col("delivered_bytes").max().cast(pl.Int64).alias("until")
    delivered = samples.group_by("flow", second).agg(until).sort("flow", "second")
    gained = (pl.col("until") - pl.col("until").shift(1).over("flow").fill_null(0)).alias("gained")
    together = delivered.with_columns(gained).group_by("second").agg(pl.col("gained").sum())
    return 8.0 * max(together["gained"], default=0)


def _tables(turns: Sequence[_Turn], validity: pl.DataFrame) -> dict[str, pl.DataFrame]:
    runs = TABLES["runs"]
    axes = [_TURN] if len(turns) > 1 else []
    rows = pl.DataFrame([turn.row() for turn in turns], schema=runs.schema(axes))
    found: dict[str, list[pl.DataFrame]] = {}
    for turn in turns:
        for name, frame in _tables_of(turn, validity).items():
            found.setdefault(name, []).append(frame)
    return {"runs": rows} | {name: pl.concat(frames) for name, frames in found.items()}


def _tables_of(turn: _Turn, validity: pl.DataFrame) -> dict[str, pl.DataFrame]:
    """Return a group's part of each table, its flows counted from 0."""
    flows = turn.written.flows["flow"]
    own = {
        "samples": turn.written.samples,
        "events": _events(turn.written),
        "validity": validity.filter(pl.col("flow").is_in(flows.to_list())),
    }
    numbers = pl.DataFrame({"flow": flows, "number": pl.arange(flows.len(), dtype=pl.UInt32, eager=True)})
    counted = {
        name: frame.join(numbers, on="flow", maintain_order="left").drop("flow").rename({"number": "flow"})
        for name, frame in own.items()
    }
    counted["flows"] = _flows(turn.written, turn.steady_s)
    counted["links"] = pl.DataFrame(schema=ENGINE_TABLES["links"].schema()).drop("run")
    tables = ENGINE_TABLES | OPTIONAL_TABLES
    run = pl.lit(turn.index, pl.UInt32).alias("run")
    return {name: tables[name].conform(frame.select(run, pl.all())) for name, frame in counted.items()}


def _flows(written: _Recorded, steady: tuple[float, float]) -> pl.DataFrame:
    """Return the table of flows, which are in the order of their numbers."""
    counts, rtts = _steady_counts(written.samples, steady), _steady_rtts(written.samples, steady)
    rows = (
        _flow_row(row, counts.get(row["flow"], {}), rtts.get(row["flow"]))
        for row in written.flows.iter_rows(named=True)
    )
    return flows_frame(rows, _ns(steady[1] - steady[0]))


def _flow_row(
    flow: Mapping[str, Any], steady: Mapping[str, int], rtt: Mapping[str, Any] | None
) -> dict[str, Any]:
    """Return the row of a flow, from a server's record and its measurements in the steady interval."""
    complete_s, stop_s = flow["complete_s"], flow["stop_s"]
    return {
        "name": flow["name"],
        "algorithm": flow["algorithm"],
        "path": ["network"],
        "start_ns": _ns(flow["start_s"]),
        "stop_ns": None if stop_s is None else _ns(stop_s),
        "completion_ns": None if complete_s is None else _ns(complete_s - flow["start_s"]),
        "delivered_bytes": flow["delivered_bytes"],
        "counts": {
            "sent_packets": flow["sent_packets"],
            "retransmitted_packets": flow["retransmitted_packets"],
            "dropped_packets": max(0, flow["sent_packets"] - flow["arrived_packets"]),
            "timeouts": flow["timeouts"],
        },
        "steady": {"delivered_bytes": 0, "sent_packets": 0, "retransmitted_packets": 0, **steady},
        "rtt": rtt,
    }


def _ns(seconds: float) -> int:
    return round(seconds * _NS)


def _steady_counts(samples: pl.DataFrame, steady: tuple[float, float]) -> dict[int, dict[str, int]]:
    """Return the counts of each flow in the steady interval, as far as its samples have them."""
    counted = {
        "delivered_bytes": pl.col("delivered_bytes").cast(pl.Int64),
        "sent_packets": pl.col("tcp_info.sent_packets").cast(pl.Int64),
        "retransmitted_packets": pl.col("retransmitted_packets").cast(pl.Int64),
        "timeouts": pl.col("tcp_info.timeouts").cast(pl.Int64),
    }
    # Half a row more, since times on the grid are sums of tenths.
    until = [
        samples.filter(pl.col("time_s") <= at_s + _GRID_S / 2)
        .group_by("flow")
        .agg([value.last().alias(name) for name, value in counted.items()])
        for at_s in steady
    ]
    gained = (
        until[1]
        .join(until[0], on="flow", how="left", suffix="_before")
        .select(
            "flow",
            *((pl.col(name) - pl.col(f"{name}_before").fill_null(0)).clip(lower_bound=0) for name in counted),
        )
    )
    return {
        row.pop("flow"): {name: count for name, count in row.items() if count is not None}
        for row in gained.iter_rows(named=True)
    }


def _steady_rtts(samples: pl.DataFrame, steady: tuple[float, float]) -> dict[int, dict[str, Any]]:
    """Return the RTTs of each flow in the steady interval, of those that have any."""
    # The kernel reports smoothed RTTs, not those of single packets.
    rtt, (from_s, to_s) = pl.col("srtt_ms"), steady
    found = (
        samples.filter(pl.col("time_s").is_between(from_s - _GRID_S / 2, to_s - _GRID_S / 2, closed="left"))
        .filter(rtt.is_not_null())
        .group_by("flow")
        .agg(
            rtt.min().alias("min_ms"),
            rtt.mean().alias("mean_ms"),
            pl.concat_list(rtt.quantile(part, "linear") for part in _QUANTILES).alias("percentiles_ms"),
        )
    )
    return {row.pop("flow"): row for row in found.iter_rows(named=True)}


def _events(written: _Recorded) -> pl.DataFrame:
    flows = written.flows
    found = pl.concat(
        [
            flows.select(time_s="start_s", kind=pl.lit("start"), flow="flow"),
            flows.filter(pl.col("complete_s").is_not_null()).select(
                time_s="complete_s", kind=pl.lit("complete"), flow="flow"
            ),
            flows.filter(pl.col("ended") == "lost").select(
                time_s="end_s", kind=pl.lit("disconnect"), flow="flow"
            ),
        ]
    ).sort("time_s", "flow")
    nothing = {
        "link": pl.String,
        "packet": pl.UInt32,
        "cwnd_packets": pl.UInt32,
        "ssthresh_packets": pl.UInt32,
    }
    return found.with_columns(pl.lit(None, dtype).alias(name) for name, dtype in nothing.items())
