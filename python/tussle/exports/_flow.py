"""One flow over time, with the quantities that tools for connections record."""

from __future__ import annotations

from dataclasses import dataclass

import numpy as np
import polars as pl

from tussle.dataset import Dataset
from tussle.errors import TussleError
from tussle.exports._headers import HEADER_BYTES, header_bytes

SERIES = pl.Schema(
    {
        "time_s": pl.Float64,
        "interval_s": pl.Float64,
        "delivered_bytes": pl.UInt64,
        "retransmitted_packets": pl.UInt64,
        "cwnd_bytes": pl.UInt64,
        "rtt_ms": pl.Float64,
    }
)
"""The columns of a flow's series: an interval's end since the flow's start, its length, the bytes delivered
and packets retransmitted in it, and the window and smoothed RTT at its end. Unknown values are null."""


@dataclass(frozen=True)
class FlowSeries:
    """A flow over time, of Tussle or of another tool."""

    algorithm: str
    """The congestion control; empty if it is unknown."""
    title: str
    """A description of the run, in one line."""
    tool: str
    """The program that produced the flow, with its version."""
    segment_bytes: int | None
    """Payload of a full packet, if it is known."""
    table: pl.DataFrame
    """One row per interval, with the columns `SERIES`."""
    header_bytes: int = HEADER_BYTES
    """Size of the headers of a full packet."""


def checked(table: pl.DataFrame) -> pl.DataFrame:
    """Return a table with the columns `SERIES`; raises ValueError when it is not a time series."""
    numbers = table.select("time_s", "interval_s").to_numpy()
    if not np.isfinite(numbers).all() or (numbers <= 0).any():
        raise ValueError("an interval has no length or no end")
    if table.is_empty():
        raise ValueError("there are no intervals")
    return table


def flow_series(dataset: Dataset, run: int, flow: int) -> FlowSeries:
    """Return a flow of a dataset; raises TussleError when there is none, or it has no time series."""
    found = dataset.flows.filter(pl.col("run") == run, pl.col("flow") == flow).collect()
    if found.is_empty():
        raise TussleError(
            f"{dataset.folder} has no flow {flow} in a run {run}; {_choice(dataset)}, and flows are numbered "
            "from 0 in each"
        )
    about = found.row(0, named=True)
    samples = (
        dataset.samples.filter(pl.col("run") == run, pl.col("flow") == flow)
        .filter(pl.col("time_s") >= about["start_s"])
        .sort("time_s")
        .collect()
    )
    segment_bytes, headers = _sizes_bytes(dataset, run, flow)
    table = _intervals(samples, about["start_s"]).with_columns(
        (pl.col("cwnd_packets").cast(pl.UInt64) * segment_bytes).alias("cwnd_bytes")
    )
    if table.is_empty():
        raise TussleError(
            f"{dataset.folder} has no time series of flow {flow} in run {run}; run the scenario again with "
            '--set record.samples="100 ms"'
        )
    question = dataset.scenario.question or "a flow"
    title = f"{question} Run {run}, {about['name']} ({about['algorithm']})"
    tool = f"Tussle {dataset.provenance['tussle']}"
    series = table.select(list(SERIES)).cast(SERIES)
    return FlowSeries(about["algorithm"], title, tool, segment_bytes, series, headers)


def _intervals(samples: pl.DataFrame, start_s: float) -> pl.DataFrame:
    """Convert the counters at each sample to increments since the sample before."""
    return samples.with_columns(
        (pl.col("time_s") - start_s).alias("time_s"),
        (pl.col("time_s") - pl.col("time_s").shift(fill_value=start_s)).alias("interval_s"),
        *(
            (pl.col(counter) - pl.col(counter).shift(fill_value=0)).alias(counter)
            for counter in ("delivered_bytes", "retransmitted_packets")
        ),
        pl.col("srtt_ms").alias("rtt_ms"),
    ).filter(pl.col("interval_s") > 0)


def _sizes_bytes(dataset: Dataset, run: int, flow: int) -> tuple[int, int]:
    """Return the payload and the headers of a full packet of a flow."""
    point = dataset.runs.filter(pl.col("run") == run).select("point", "seed").collect().row(0)
    planned = dataset.scenario.points()[point[0]].resolve(point[1])
    spec = planned["flows"][flow]
    return spec["mss_bytes"], header_bytes(planned, spec)


def _choice(dataset: Dataset) -> str:
    last = dataset.runs.select(pl.col("run").max()).collect().item()
    return "it has no run at all" if last is None else f"its runs are 0 to {last} (--run)"
