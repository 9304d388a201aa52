"""Plausibility checks of a server's files.

A server refuses implausible numbers from clients. Servers of earlier versions recorded them.
"""

from collections.abc import Iterator
from typing import NamedTuple

import polars as pl

from tussle.units import RATE, rate

_MOST_RATE_BIT_PER_S = rate(RATE.most)
_MOST_BYTES = 1 << 60
_MOST_RTT_MS = 1e6
_MOST_NUMBER = float(_MOST_BYTES)
"""Largest plausible number: a server accepts claims of as many bytes."""
_MOST_TIME_S = 1e10
"""Largest plausible time: a table has nanoseconds in 64 bits."""
_AHEAD_S = 10.0
"""Largest time of a row before the start of its flow, or after its end: clocks differ by less."""
_MOST_NAME_BYTES = 64
_CLOCK_COLUMNS = ("clock_offset_s", "clock_offset_error_s")
_MOST_OFFSET_S = 1e11


class Received(NamedTuple):
    """Files of a server: one row per flow, its samples, and its validity."""

    flows: pl.DataFrame
    samples: pl.DataFrame
    validity: pl.DataFrame


def vetted(received: Received) -> tuple[Received, list[str]]:
    """Leave out flows with impossible values, and give the reason of each in a sentence."""
    why: dict[int, str] = {}
    for flow, reason in _faults(received):
        why.setdefault(flow, reason)
    names = dict(received.flows.select("flow", "name").iter_rows())
    sentences = [f"{names[flow]} is left out: {why[flow]}" for flow in sorted(why)]
    good = ~pl.col("flow").is_in(list(why))
    return Received(*(table.filter(good) for table in received)), sentences


def _faults(received: Received) -> Iterator[tuple[int, str]]:
    flows, samples, validity = received
    known = flows["flow"].to_list()
    for flow, start_s, end_s, delivered in flows.select(
        "flow", "start_s", "end_s", "delivered_bytes"
    ).iter_rows():
        until_s = start_s if end_s is None else end_s
        if not 0 <= start_s <= until_s < _MOST_TIME_S:
            yield flow, f"it lasted from {start_s:g} s to {until_s:g} s"
        if delivered > _MOST_BYTES:
            yield flow, f"{delivered} bytes cannot have arrived"
    for name in ("stop_s", "complete_s"):
        broken = ~pl.col(name).is_between(pl.col("start_s"), _MOST_TIME_S)
        for flow, at_s in _where(flows, broken, name):
            yield flow, f"{name} cannot be {at_s:g}"
    samples = samples.filter(pl.col("flow").is_in(known))
    yield from _of_samples(samples, flows)
    yield from _of_validity(validity.filter(pl.col("flow").is_in(known)))


def _of_samples(samples: pl.DataFrame, flows: pl.DataFrame) -> Iterator[tuple[int, str]]:
    spans = flows.select("flow", "start_s", "end_s")
    timed = samples.select("flow", "time_s").join(spans, on="flow")
    late = pl.col("time_s") > pl.col("end_s") + _AHEAD_S
    early = pl.col("time_s") < pl.col("start_s") - _AHEAD_S
    for flow, time_s in timed.filter(late | early).select("flow", "time_s").iter_rows():
        yield flow, f"it has a row at {time_s:.1f} s, when the flow did not exist"
    for name in ("srtt_ms", "tcp_info.min_rtt_ms"):
        for flow, rtt_ms in _where(samples, pl.col(name) > _MOST_RTT_MS, name):
            yield flow, f"a round trip cannot take {rtt_ms / 1e3:.0f} s"
    for name, dtype in samples.schema.items():
        if dtype.is_float():
            broken = ~pl.col(name).is_between(-_MOST_NUMBER, _MOST_NUMBER)
            for flow, number in _where(samples, broken, name):
                yield flow, f"{name} cannot be {number:g}"
    for flow, delivered in _where(samples, pl.col("delivered_bytes") > _MOST_BYTES, "delivered_bytes"):
        yield flow, f"{delivered} bytes cannot have arrived"
    yield from _of_progress(samples)


def _of_progress(samples: pl.DataFrame) -> Iterator[tuple[int, str]]:
    """Find counters that decrease, or grow faster than the limit."""
    before = pl.col("delivered_bytes").shift(1).over("flow").fill_null(0)
    steps = samples.sort("flow", "time_s").select(
        "flow", gained=pl.col("delivered_bytes").cast(pl.Float64) - before.cast(pl.Float64)
    )
    for flow, gained in _where(steps, pl.col("gained") < 0, "gained"):
        yield flow, f"the delivered bytes decrease, by {-gained:.0f} bytes"
    # Rows are at least a tenth of a second apart; one may contain data delayed for up to a second.
    most_bytes = _MOST_RATE_BIT_PER_S / 8
    for flow, gained in _where(steps, pl.col("gained") > most_bytes, "gained"):
        yield flow, f"{gained:.4g} bytes at once are more than {RATE.most}"


def _of_validity(validity: pl.DataFrame) -> Iterator[tuple[int, str]]:
    for name, dtype in validity.schema.items():
        column = pl.col(name)
        if dtype.is_float():
            most = _MOST_OFFSET_S if name in _CLOCK_COLUMNS else _MOST_NUMBER
            broken = ~column.is_between(-most, most)
        elif dtype in (pl.String, pl.Categorical) or dtype == pl.Enum:
            if name == "shortfall":
                continue
            text = column.cast(pl.String)
            broken = (text.str.len_bytes() > _MOST_NAME_BYTES) | text.str.contains(r"[[:cntrl:]]")
        else:
            continue
        for flow, _ in _where(validity, broken, name):
            yield flow, f"its {name} is implausible"


def _where(table: pl.DataFrame, broken: pl.Expr, name: str) -> Iterator[tuple[int, float]]:
    """Yield the first problem of each flow."""
    yield from table.filter(broken).select("flow", name).unique("flow", keep="first").iter_rows()
