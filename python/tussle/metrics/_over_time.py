"""Goodput of flows in consecutive intervals, for all metrics over time."""

from __future__ import annotations

import math
from functools import lru_cache

import polars as pl

from tussle.errors import TussleError, setting
from tussle.metrics._metric import Tables
from tussle.metrics._steady import INSTANT_S, PACKET_BITS

SECOND_NS = 1_000_000_000
"""The interval of metrics of each second."""

_LEAST_INTERVALS, _MOST_INTERVALS = 60, 300
"""Smallest and largest number of intervals of a run: figures can show them."""
_ROUND_TRIPS = 4
"""Number of round trips in an interval."""
_ROWS_WITHOUT_SAMPLING = 3
"""Number of rows of a series without sampling: the ends of the steady interval and of the run."""
_NS = 1_000_000_000


# Several figures of a run use the same goodputs.
@lru_cache(maxsize=1)
def goodputs(tables: Tables, least_ns: int = 0) -> pl.DataFrame:
    """`run, flow, time_s, interval_s, goodput_bit_per_s`: `time_s` is the middle of each interval.

    All runs have the same interval: the shortest of 1, 2, 5, 10, 20 … ms that contains a sample and four
    round trips through a full buffer (a recovered loss delivers the bytes of a round trip at once, although
    the link had no burst). If the longest run would have fewer than 60 intervals, a sixtieth of that run
    replaces the four round trips. No run has more than 300 intervals. The interval is at least `least_ns`.
    Between samples bytes count as delivered evenly. Intervals that end before the flow starts are left out.
    """
    time_ns = (pl.col("time_s") * _NS).round().cast(pl.Int64)
    samples = (
        tables.samples.filter(pl.col("delivered_bytes").is_not_null())
        .select("run", "flow", time_ns.alias("time_ns"), "delivered_bytes")
        .sort("time_ns")
    )
    ends = samples.group_by("run", "flow").agg(pl.col("time_ns").max().alias("end_ns"), pl.len()).collect()
    if ends.is_empty():
        return _empty()
    step_ns = max(_step_ns(ends, _longest_rtt_ms(tables)), least_ns)
    edges = (
        ends.lazy()
        .with_columns(pl.int_ranges(0, pl.col("end_ns") // step_ns + 1).alias("edge"))
        .explode("edge")
        .select("run", "flow", (pl.col("edge") * step_ns).alias("time_ns"))
        .sort("time_ns")
    )
    starts = tables.flows.select("run", "flow", "start_s")
    gained = pl.col("delivered_bytes").diff().over("run", "flow")
    return (
        _delivered(edges, samples)
        .sort("run", "flow", "time_ns")
        .with_columns(gained.alias("gained_bytes"))
        .join(starts, on=["run", "flow"])
        .filter(pl.col("gained_bytes").is_not_null(), pl.col("time_ns") > pl.col("start_s") * _NS)
        .select(
            "run",
            "flow",
            ((pl.col("time_ns") - step_ns / 2) / _NS).alias("time_s"),
            pl.lit(step_ns / _NS).alias("interval_s"),
            (pl.col("gained_bytes") * 8 * _NS / step_ns).alias("goodput_bit_per_s"),
        )
        .sort("run", "flow", "time_s")
        .collect()
    )


def goodputs_while_sending(tables: Tables, least_ns: int = 0) -> pl.DataFrame:
    """Goodputs in the intervals between a flow's start and its end."""
    flows = tables.flows.select(
        "run", "flow", "start_s", "stop_s", (pl.col("start_s") + pl.col("completion_s")).alias("complete_s")
    ).collect()
    ends_s = pl.col("time_s") + pl.col("interval_s") / 2
    begins_s = pl.col("time_s") - pl.col("interval_s") / 2
    last_s = pl.min_horizontal("stop_s", "complete_s").fill_null(math.inf)
    return (
        goodputs(tables, least_ns)
        .join(flows, on=["run", "flow"])
        .filter(begins_s >= pl.col("start_s") - INSTANT_S, ends_s <= last_s + INSTANT_S)
        .drop("start_s", "stop_s", "complete_s")
        .sort("run", "flow", "time_s")
    )


def goodputs_of_all(tables: Tables, least_ns: int = 0) -> pl.DataFrame:
    """Goodputs in the intervals in which every flow of the run is sending, with `flows`, their number."""
    count = tables.flows.group_by("run").agg(pl.len().alias("flows")).collect()
    return (
        goodputs_while_sending(tables, least_ns)
        .join(count, on="run")
        .filter(pl.len().over("run", "time_s") == pl.col("flows"))
        .sort("run", "flow", "time_s")
    )


def in_steady_interval(series: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Keep the intervals within the steady interval of their run."""
    steady = tables.runs.select("run", "steady_from_s", "steady_to_s").collect()
    half = pl.col("interval_s") / 2
    return (
        series.join(steady, on="run")
        .filter(
            pl.col("time_s") - half >= pl.col("steady_from_s") - INSTANT_S,
            pl.col("time_s") + half <= pl.col("steady_to_s") + INSTANT_S,
        )
        .drop("steady_from_s", "steady_to_s")
    )


def halves_of_steady_interval(tables: Tables) -> pl.DataFrame:
    """`run, flow, first_bit_per_s, second_bit_per_s`: goodputs in the two halves of the steady interval."""
    middle = ((pl.col("steady_from_s") + pl.col("steady_to_s")) / 2).alias("middle_s")
    is_first = pl.col("time_s") <= pl.col("middle_s")
    goodput = pl.col("goodput_bit_per_s")
    return (
        in_steady_interval(goodputs(tables), tables)
        .join(tables.runs.select("run", middle).collect(), on="run")
        .group_by("run", "flow")
        .agg(
            goodput.filter(is_first).mean().alias("first_bit_per_s"),
            goodput.filter(~is_first).mean().alias("second_bit_per_s"),
        )
        .sort("run", "flow")
    )


def delivered_by(tables: Tables, instants: pl.LazyFrame) -> pl.LazyFrame:
    """`run, flow, time_s, delivered_bytes` at `instants`, columns `run, time_s`.

    Between samples bytes count as delivered evenly. Flows without samples of delivered bytes are left out.
    """
    in_ns = (pl.col("time_s") * _NS).round().cast(pl.Int64).alias("time_ns")
    samples = (
        tables.samples.filter(pl.col("delivered_bytes").is_not_null())
        .select("run", "flow", in_ns, "delivered_bytes")
        .sort("time_ns")
    )
    edges = samples.select("run", "flow").unique().join(instants, on="run").with_columns(in_ns)
    found = _delivered(edges.select("run", "flow", "time_ns").sort("time_ns"), samples)
    return found.join(edges, on=["run", "flow", "time_ns"]).drop("time_ns")


def require_series(frame: pl.LazyFrame, metric: str) -> None:
    """Raise TussleError when a table of time series was not sampled."""
    if not has_series(frame):
        raise TussleError(
            f"{metric} needs time series, and this dataset has none; run the scenario again with "
            f"{setting('record.samples', '100 ms')}"
        )


def has_series(frame: pl.LazyFrame) -> bool:
    """Return whether a table of time series was sampled."""
    return _most_rows(frame) > _ROWS_WITHOUT_SAMPLING


def _most_rows(frame: pl.LazyFrame) -> int:
    """Return the number of instants in the longest series of a run."""
    if "time_s" not in frame.collect_schema():
        return 0
    instants = frame.group_by("run").agg(pl.col("time_s").n_unique())
    return instants.select(pl.col("time_s").max()).collect().item() or 0


def _delivered(edges: pl.LazyFrame, samples: pl.LazyFrame) -> pl.LazyFrame:
    """Return the bytes delivered until each edge, by linear interpolation between samples."""
    before, after = (
        samples.select(
            "run",
            "flow",
            "time_ns",
            pl.col("time_ns").alias(f"{side}_ns"),
            pl.col("delivered_bytes").cast(pl.Float64).alias(f"{side}_bytes"),
        )
        for side in ("before", "after")
    )
    keys = ["run", "flow"]
    edges = edges.join_asof(before, on="time_ns", by=keys, strategy="backward", check_sortedness=False)
    edges = edges.join_asof(after, on="time_ns", by=keys, strategy="forward", check_sortedness=False)
    gap_ns = pl.col("after_ns") - pl.col("before_ns")
    slope = (pl.col("after_bytes") - pl.col("before_bytes")) / gap_ns
    between = pl.col("before_bytes") + slope * (pl.col("time_ns") - pl.col("before_ns"))
    known = pl.when(gap_ns > 0).then(between).otherwise(pl.col("before_bytes")).fill_null(0.0)
    return edges.select("run", "flow", "time_ns", known.alias("delivered_bytes"))


def _longest_rtt_ms(tables: Tables) -> float:
    """Return the longest round trip through a full buffer; 0 if it is unknown."""
    buffer_bits = pl.col("buffer_packets").fill_null(0) * PACKET_BITS
    rtt_ms = pl.col("base_rtt_ms") + buffer_bits / pl.col("link_rate_bit_per_s") * 1e3
    return tables.runs.select(rtt_ms.max()).collect().item() or 0.0


def _step_ns(ends: pl.DataFrame, rtt_ms: float) -> int:
    """Choose the interval for series with these ends and lengths, and this round trip."""
    sampled_ns = max(end_ns / max(rows - 1, 1) for end_ns, rows in ends.select("end_ns", "len").iter_rows())
    end_ms = max(ends["end_ns"]) / 1e6
    steady_ms = min(_ROUND_TRIPS * rtt_ms, end_ms / _LEAST_INTERVALS)
    least_ms = max(sampled_ns / 1e6, end_ms / _MOST_INTERVALS, steady_ms)
    decade = 10 ** max(0, math.floor(math.log10(max(least_ms, 1))))
    nice_ms = next(step * decade for step in (1, 2, 5, 10) if step * decade >= least_ms * (1 - 1e-9))
    return nice_ms * 1_000_000


def _empty() -> pl.DataFrame:
    columns = {"time_s": pl.Float64, "interval_s": pl.Float64, "goodput_bit_per_s": pl.Float64}
    return pl.DataFrame(schema={"run": pl.UInt32, "flow": pl.UInt32, **columns})
