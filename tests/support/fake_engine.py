"""An engine that executes runs instantly, for tests of the code around engines."""

import os
import signal
import time
from collections.abc import Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES
from tussle.errors import TussleError

Run = Mapping[str, Any]
EXTRA_FACTS: dict[str, str] = {}
"""Additional facts of the engine, which tests set to imitate another build."""
VALIDITY = OPTIONAL_TABLES["validity"]


def nothing(_run: Run) -> None:
    """The default side effect of executing a run."""


def takes_a_moment(_run: Run) -> None:
    time.sleep(0.15)


def fails_on_20_mbit_per_s(run: Run) -> None:
    if _rate(run) == 20_000_000:
        raise TussleError("20 Mbit/s is too much for this engine")


def is_killed_on_20_mbit_per_s(run: Run) -> None:
    if _rate(run) == 20_000_000:
        os.kill(os.getpid(), signal.SIGKILL)


def has_a_mistake(_run: Run) -> None:
    raise ZeroDivisionError("division by zero")


def is_interrupted_on_20_mbit_per_s(run: Run) -> None:
    if _rate(run) == 20_000_000:
        raise KeyboardInterrupt


@dataclass(frozen=True)
class KillsItsWorker:
    """Kills its worker on one run, identified by its line from `executed`."""

    line: str

    def __call__(self, run: Run) -> None:
        if executed(run) == self.line:
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class KillsItsWorkerOnce:
    """Kills its worker on the first run at 20 Mbit/s; the file `marker` records it."""

    marker: Path

    def __call__(self, run: Run) -> None:
        if _rate(run) != 20_000_000:
            return
        # Two workers may execute such runs at the same time; only one may be killed.
        with suppress(FileExistsError):
            self.marker.touch(exist_ok=False)
            os.kill(os.getpid(), signal.SIGKILL)


@dataclass(frozen=True)
class FakeEngine:
    """An engine with invented results; appends a line to `log`, if given, for each executed run."""

    side_effect: Callable[[Run], None] = nothing
    log: Path | None = None
    refuses: str | None = None
    version: str = "1"

    name = "fake"
    max_parallel_runs = None

    def about(self) -> Mapping[str, str]:
        return {"name": self.name, "version": self.version, **EXTRA_FACTS}

    def check(self, run: Run) -> None:
        if self.refuses in {flow["algorithm"] for flow in run["flows"]}:
            raise TussleError(f"no algorithm {self.refuses} here")

    def execute(self, run: Run) -> dict[str, pl.DataFrame]:
        self.side_effect(run)
        if self.log is not None:
            with self.log.open("a") as log:
                log.write(f"{executed(run)}\n")
        return tables_of(run)

    def close(self) -> None:
        """Do nothing: no resource is open."""


def executed(run: Run) -> str:
    """Return a line that identifies a run."""
    return f"{_rate(run)} {' '.join(flow['algorithm'] for flow in run['flows'])} {run['seed']}"


def tables_of(run: Run) -> dict[str, pl.DataFrame]:
    """Return tables that depend on the run only."""
    flows = [_flow_row(run, flow) for flow in range(len(run["flows"]))]
    samples = [_sample_row(run, flow, time_s) for time_s in (0.1, 0.2) for flow in range(len(flows))]
    links = [_link_row(run, 1.0)]
    return {
        "flows": _frame("flows", flows),
        "samples": _frame("samples", samples),
        "links": _frame("links", links),
        "events": _frame("events", []),
    }


def _frame(name: str, rows: list[dict[str, Any]]) -> pl.DataFrame:
    table = ENGINE_TABLES[name]
    schema = table.schema(table.more_names(rows[0] if rows else ()))
    return pl.DataFrame(rows, schema={column: schema[column] for column in schema if column != "run"})


def _rate(run: Run) -> int:
    bottleneck = next(e for e in run["elements"] if e["name"] == "bottleneck")
    return bottleneck.get("rate_bit_per_s", 10_000_000)  # a recording has no one rate


def _flow_row(run: Run, flow: int) -> dict[str, Any]:
    spec = run["flows"][flow]
    counts = {c.name: flow for c in ENGINE_TABLES["flows"].columns if c.dtype == pl.UInt64}
    texts = {"name": spec["name"], "algorithm": spec["algorithm"], "path": " > ".join(spec["forward"])}
    return (
        counts
        | texts
        | {"flow": flow, "start_s": 0.0, "goodput_bit_per_s": _rate(run) / (3 + run["seed"] % 7)}
    )


def _sample_row(run: Run, flow: int, time_s: float) -> dict[str, Any]:
    first = run["flows"][0]["algorithm"]
    return {
        "flow": flow,
        "time_s": time_s,
        "cwnd_packets": 10 + flow,
        "in_flight_packets": 10,
        "delivered_bytes": int(time_s * _rate(run)),
        "retransmitted_packets": 0,
        "state": "open",
        f"{first}.quantity": time_s / 3,
    }


def _link_row(run: Run, time_s: float) -> dict[str, Any]:
    counts = {c.name: 7 for c in ENGINE_TABLES["links"].columns if c.dtype in (pl.UInt32, pl.UInt64)}
    return counts | {
        "link": "bottleneck",
        "time_s": time_s,
        "mean_backlog_packets": _rate(run) / 7e6,
        "utilisation": 0.9,
    }


VALIDITY_ROW = {
    "host": "left",
    "kernel": "6.1.0",
    "algorithm": "reno",
    "interface": "eth0",
    "busy_s": 9.5,
    "receiver_limited_s": 0.0,
    "sender_limited_s": 0.0,
    "cpu_share": 0.25,
    "timer_slip_p99_ms": 0.1,
    "timer_slip_max_ms": 0.5,
    "kept_up": True,
}


@dataclass(frozen=True)
class MeasuringEngine(FakeEngine):
    """An engine that also fills the table `validity`; hosts do not keep up with 20 Mbit/s."""

    def execute(self, run: Run) -> dict[str, pl.DataFrame]:
        fared = {"kept_up": False, "shortfall": "too late"} if _rate(run) == 20_000_000 else {}
        rows = [VALIDITY_ROW | fared | {"flow": flow} for flow in range(len(run["flows"]))]
        schema = {name: dtype for name, dtype in VALIDITY.schema().items() if name != "run"}
        return super().execute(run) | {"validity": pl.DataFrame(rows, schema=schema)}


@dataclass(frozen=True)
class MissingColumnEngine(FakeEngine):
    """An engine that omits a column of the table `samples` at 20 Mbit/s."""

    def execute(self, run: Run) -> dict[str, pl.DataFrame]:
        tables = super().execute(run)
        forgotten = ["srtt_ms"] if _rate(run) == 20_000_000 else []
        return tables | {"samples": tables["samples"].drop(forgotten)}


@dataclass(frozen=True)
class RealTimeEngine(FakeEngine):
    """An engine that claims to run in real time, so that one run is executed at a time."""

    max_parallel_runs = 1


@dataclass(frozen=True)
class GoodputEngine(FakeEngine):
    """An engine whose goodput is a function of the run's seed."""

    goodput: Callable[[int], float] = float

    def execute(self, run: Run) -> dict[str, pl.DataFrame]:
        tables = super().execute(run)
        flows = tables["flows"].with_columns(goodput_bit_per_s=pl.lit(self.goodput(run["seed"])))
        return {**tables, "flows": flows}


def noise(seed: int) -> float:
    """Return a number between 0 and 1 derived from a seed."""
    return seed % 1009 / 1009


def base(seed: int) -> float:
    return 50e6 + 20e6 * noise(seed)


def five_percent_more(seed: int) -> float:
    return 1.05 * (50e6 + 20e6 * noise(seed))
