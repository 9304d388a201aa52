"""Datasets made by hand or by a fluid model, for tests of code that reads datasets.

The fluid model is no simulator: it gives numbers that look like TCP's, at once, so that metrics, figures
and the report can be tested without an engine.
"""

from __future__ import annotations

import math
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field
from itertools import product
from typing import Any

import polars as pl

from tussle.metrics import Tables
from tussle.scenario import Scenario

RATE_BIT_PER_S = 100_000_000
RTT_S = 0.04
BUFFER_PACKETS = 333
BDP_PACKETS = 333
STEP_S = 0.1
QUESTION = "Which of these share a bottleneck fairly?"

GROWTH_PACKETS = {"reno": 0.25, "cubic": 0.9, "bic": 1.6, "vegas": 0.25}
KEPT = {"reno": 0.5, "cubic": 0.7, "bic": 0.8, "vegas": 0.5}

Row = dict[str, Any]


def _scenario() -> Scenario:
    flows = [{"algorithm": ["reno", "vegas"]}, {"algorithm": ["reno", "vegas"], "start": "10 s"}]
    path = {"rate": "100 Mbit/s", "rtt": "40 ms", "queue": {"limit": "1 bdp"}}
    return Scenario.from_dict({"question": QUESTION, "duration": "60 s", "path": path, "flows": flows})


@dataclass(frozen=True, eq=False)
class PlausibleDataset:
    runs: pl.LazyFrame
    flows: pl.LazyFrame
    samples: pl.LazyFrame
    links: pl.LazyFrame
    events: pl.LazyFrame
    validity: pl.LazyFrame | None = None
    baseline: Tables | None = None
    scenario: Scenario = field(default_factory=_scenario)
    provenance: dict[str, Any] = field(
        default_factory=lambda: {
            "tussle": "0.1.0",
            "engine": {"name": "sim", "profile": "linux-6.1"},
            "seed": 7,
            "digest": "sha256:0f1e2d3c",
            "command": "tussle run scenario.toml -o results/pairs",
        }
    )


def by_hand(**tables: Iterable[Row]) -> PlausibleDataset:
    """Return a dataset of exactly these rows; tables not given are empty."""
    return _dataset({name: pl.LazyFrame(list(rows)) for name, rows in tables.items()})


def _dataset(frames: dict[str, pl.LazyFrame]) -> PlausibleDataset:
    empty = pl.LazyFrame(schema={"run": pl.UInt32})
    return PlausibleDataset(
        runs=frames.get("runs", empty),
        flows=frames.get("flows", empty),
        samples=frames.get("samples", empty),
        links=frames.get("links", empty),
        events=frames.get("events", empty),
    )


def run_row(run: int, **others: Any) -> Row:
    """One row of `runs`: point and repetition 0, 60 s of which the last 40 s are steady."""
    return {
        "run": run,
        "point": run,
        "repetition": 0,
        "seed": 7,
        "duration_s": 60.0,
        "steady_from_s": 20.0,
        "steady_to_s": 60.0,
        "link_rate_bit_per_s": RATE_BIT_PER_S,
        "base_rtt_ms": RTT_S * 1e3,
        "buffer_packets": BUFFER_PACKETS,
        **others,
    }


def flow_row(run: int, flow: int, **others: Any) -> Row:
    """One row of `flows` with every column of the dataset format."""
    return {
        "run": run,
        "flow": flow,
        "name": f"flow-{flow}",
        "algorithm": "reno",
        "path": f"flow-{flow}-access > bottleneck",
        "start_s": 0.0,
        "stop_s": None,
        "completion_s": None,
        "delivered_bytes": 0,
        "sent_packets": 0,
        "retransmitted_packets": 0,
        "lost_packets": 0,
        "dropped_packets": 0,
        "timeouts": 0,
        "spurious_timeouts": 0,
        "recoveries": 0,
        "undone_recoveries": 0,
        "ecn_echoes": 0,
        "steady_delivered_bytes": 0,
        "goodput_bit_per_s": 0.0,
        "steady_sent_packets": 0,
        "steady_retransmitted_packets": 0,
        "steady_timeouts": 0,
        "steady_rwnd_limited_s": 0.0,
        "steady_sndbuf_limited_s": 0.0,
        "rtt_min_ms": 40.0,
        "rtt_mean_ms": 60.0,
        "rtt_p05_ms": 42.0,
        "rtt_p25_ms": 50.0,
        "rtt_p50_ms": 60.0,
        "rtt_p75_ms": 70.0,
        "rtt_p95_ms": 79.0,
        "rtt_p99_ms": 80.0,
        **others,
    }


def matrix(algorithms: Sequence[str], repetitions: int = 1) -> PlausibleDataset:
    """Return every ordered pair of the algorithms, with the second flow starting 10 s after the first."""
    axes = [
        {"flows.0.algorithm": first, "flows.1.algorithm": second}
        for first, second in product(algorithms, repeat=2)
    ]
    return sweep(axes, repetitions)


def sweep(points: Sequence[dict[str, str]], repetitions: int = 1) -> PlausibleDataset:
    """One run for each point and repetition; the algorithms are those of the `flows.N.algorithm` axes."""
    tables: dict[str, list[Row]] = {"runs": [], "flows": [], "samples": [], "links": []}
    planned = [(point, repetition) for point in range(len(points)) for repetition in range(repetitions)]
    for run, (point, repetition) in enumerate(planned):
        axes = points[point]
        tables["runs"].append(run_row(run, point=point, repetition=repetition, seed=7 + repetition, **axes))
        names = [axes[f"flows.{i}.algorithm"] for i in range(9) if f"flows.{i}.algorithm" in axes]
        for name, rows in _fluid(run, names or ["cubic"], repetition).items():
            tables[name] += rows
    return _dataset({name: pl.LazyFrame(rows, infer_schema_length=None) for name, rows in tables.items()})


def _fluid(run: int, names: Sequence[str], repetition: int) -> dict[str, list[Row]]:
    """Simulate windows that grow by `GROWTH_PACKETS` per step and fall to `KEPT` when the buffer is full."""
    starts = [0.0, *[10.0] * (len(names) - 1)]
    windows = [10.0] * len(names)
    thresholds: list[int | None] = [None] * len(names)
    delivered, retransmitted = [0] * len(names), [0] * len(names)
    samples, links, through, dropped, before = [], [], 0, 0, 0.0
    for step in range(601):
        time_s = step * STEP_S
        active = [i for i, start in enumerate(starts) if time_s >= start]
        queue = max(0.0, sum(windows[i] for i in active) - BDP_PACKETS)
        full = queue > BUFFER_PACKETS
        for i in active:
            slow = windows[i] < (thresholds[i] or math.inf)
            if names[i] == "vegas" and queue * windows[i] / sum(windows[j] for j in active) > 4:
                windows[i] = max(2.0, windows[i] - 2.0)
                thresholds[i] = int(windows[i])
            elif full:
                windows[i] = max(2.0, windows[i] * (KEPT.get(names[i], 0.6) + 0.02 * repetition))
                thresholds[i] = int(windows[i])
                retransmitted[i] += 12
                dropped += 12
            else:
                growth = GROWTH_PACKETS.get(names[i], 0.5) * 8
                windows[i] += windows[i] * 0.3 if slow else growth
        total = sum(windows[i] for i in active)
        queue = min(float(BUFFER_PACKETS), max(0.0, total - BDP_PACKETS))
        rate = min(1.0, total / BDP_PACKETS) * RATE_BIT_PER_S
        for i in active:
            delivered[i] += int(rate * windows[i] / total * STEP_S / 8 * 1448 / 1500)
            rtt_ms = (RTT_S + queue * 12000 / RATE_BIT_PER_S) * 1e3
            samples.append(
                {
                    "run": run,
                    "flow": i,
                    "time_s": round(time_s, 3),
                    "cwnd_packets": int(windows[i]),
                    "ssthresh_packets": thresholds[i],
                    "srtt_ms": rtt_ms,
                    "rtt_ms": rtt_ms,
                    "in_flight_packets": int(windows[i]),
                    "delivered_bytes": delivered[i],
                    "retransmitted_packets": retransmitted[i],
                    "pacing_bit_per_s": None,
                    "state": "recovery" if full else "open",
                }
            )
        through += int(rate * STEP_S / 12000)
        links.append(
            {
                "run": run,
                "link": "bottleneck",
                "time_s": round(time_s, 3),
                "backlog_packets": int(queue),
                "backlog_bytes": int(queue) * 1500,
                "mean_backlog_packets": (queue + before) / 2,
                "max_backlog_packets": int(max(queue, before)),
                "arrived_packets": through + dropped,
                "delivered_packets": through,
                "dropped_packets": dropped,
                "marked_packets": 0,
                "delivered_bytes": through * 1500,
                "utilisation": rate / RATE_BIT_PER_S,
            }
        )
        before = queue
    flows = []
    for i, name in enumerate(names):
        at = {row["time_s"]: row["delivered_bytes"] for row in samples if row["flow"] == i}
        steady = at[60.0] - at[20.0]
        packets = steady // 1448
        flows.append(
            flow_row(
                run,
                i,
                algorithm=name,
                start_s=starts[i],
                delivered_bytes=delivered[i],
                sent_packets=delivered[i] // 1448 + retransmitted[i],
                retransmitted_packets=retransmitted[i],
                lost_packets=retransmitted[i],
                dropped_packets=retransmitted[i],
                steady_delivered_bytes=steady,
                goodput_bit_per_s=steady * 8 / 40.0,
                steady_sent_packets=packets + 40,
                steady_retransmitted_packets=40,
            )
        )
    return {"flows": flows, "samples": samples, "links": links}
