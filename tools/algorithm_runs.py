"""Simulates the runs behind the algorithms' pages; computes their numbers and draws their pictures."""

import sys
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import vl_convert

from small_png import with_palette
from tussle.dataset import Dataset
from tussle.figures import Chart, View, draw
from tussle.metrics import REGISTRY, Tables, select_runs
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

MARKED = ("dctcp", "prague")
"""Algorithms designed for a queue that marks CE."""
MARK_ABOVE = "0.2 bdp"
"""Marking threshold: above BDP / 7, which keeps the link busy (Alizadeh et al., ACM SIGCOMM, 2010, 3.4)."""
_SMALL, _LARGE = "0.1 bdp", "1 bdp"
BUFFERS = ["0.1 bdp", "0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp", "4 bdp"]
"""Buffers of the runs against Reno."""
_LOST = "1700, 90000, 120000, 150000, 180000, 210000"
"""Packets that the path drops: one in 7 s of a flow that fills the link with 4167 packets/s.

The first falls into slow start, except for lp, whose slow start ends earlier.
"""
_BEFORE_S, _AFTER_S = 1.0, 5.0
"""Time shown before and after the loss, in seconds."""
_SOON_S = 1.0
"""Time after the loss within which the smallest cwnd is searched, in seconds."""
_WIDTH_PX = 480
_MOST_ROWS = 300
_PIXELS_PER_POINT = 1.2
"""Lower than for print, since these pictures are many."""


@dataclass(frozen=True)
class Queueing:
    """Results of one flow alone on the reference path."""

    used_percent: float = 0
    """Utilisation of the link."""
    queue_packets: float = 0
    """The mean."""
    queue_ms: float = 0
    retransmitted_percent: float = 0
    """Percentage of the packets sent that are retransmissions."""


@dataclass(frozen=True)
class Loss:
    """Reaction of cwnd to one lost packet, in packets."""

    at_s: float = 0
    before: int = 0
    smallest: int = 0
    after: int = 0
    """cwnd at the end of the time shown."""


@dataclass(frozen=True)
class Measured:
    """Numbers of one algorithm's page; the defaults are placeholders where nothing is simulated."""

    small: Queueing = Queueing()
    large: Queueing = Queueing()
    loss: Loss = Loss()
    shares_percent: tuple[float, ...] = (0,) * len(BUFFERS)
    """Share of the flow against Reno, one value for each buffer."""
    marked: Queueing = Queueing()


@dataclass(frozen=True)
class _Studies:
    """The datasets of all studies; each has a run for each algorithm, or for each algorithm and buffer."""

    alone: Tables
    lossy: Tables
    beside_reno: Tables
    marking: Tables


def measure(algorithms: list[str], images: Path, scratch: Path) -> Iterator[tuple[str, Measured]]:
    """Simulate, write the pictures into `images` and return the numbers of each algorithm."""
    studies = _Studies(**{name: _run(scenario, scratch / name) for name, scenario in plan(algorithms)})
    for name in algorithms:
        measured = Measured(
            small=_queueing(_chosen(studies.alone, name, _SMALL)),
            large=_queueing(_chosen(studies.alone, name, _LARGE)),
            loss=_draw_loss(_chosen(studies.lossy, name), images / f"{name}-loss.png"),
            shares_percent=_shares_percent(_chosen(studies.beside_reno, name)),
        )
        _draw("window", _chosen(studies.alone, name), images / f"{name}-window.png")
        _draw("share_over_buffer", _chosen(studies.beside_reno, name), images / f"{name}-share.png")
        if name in MARKED:
            _draw("window", _chosen(studies.marking, name), images / f"{name}-marked.png")
            measured = replace(measured, marked=_queueing(_chosen(studies.marking, name)))
        yield name, measured


def plan(algorithms: list[str]) -> Iterator[tuple[str, Scenario]]:
    """Yield each study by the name of its field in `_Studies`, with one run of each of its points."""
    reference = {"rate": "200 Mbit/s", "rtt": "100 ms"}
    shorter = {"rate": "50 Mbit/s", "rtt": "40 ms"}
    one = [{"algorithm": algorithms}]
    yield (
        "alone",
        _scenario({"duration": "100 s", "path": reference | {"queue": {"limit": [_SMALL, _LARGE]}}}, one),
    )
    lossy = {"duration": "60 s", "path": shorter | {"queue": {"limit": _LARGE}}}
    lossy["path"]["elements"] = [{"kind": "loss_list", "packets": _LOST}]
    yield "lossy", _scenario(lossy | {"record": {"samples": "10 ms", "events": True}}, one)
    yield (
        "beside_reno",
        _scenario(
            # With a buffer of 4 BDP, Reno needs about a minute from one loss to the next.
            {
                "duration": "180 s",
                "record": {"samples": "off"},
                "path": shorter | {"queue": {"limit": BUFFERS}},
            },
            [*one, {"algorithm": "reno", "start": "1 s"}],
        ),
    )
    yield (
        "marking",
        _scenario(
            {
                "duration": "60 s",
                "path": shorter | {"queue": {"kind": "threshold", "mark_above": MARK_ABOVE}},
            },
            [{"algorithm": [name for name in algorithms if name in MARKED], "sender": {"ecn": True}}],
        ),
    )


def _scenario(tables: Mapping[str, Any], flows: list[dict[str, Any]]) -> Scenario:
    # A page shows only one run, so further repetitions are omitted. With random offsets of
    # timestamps LP would be Reno.
    hosts = {"timestamps": "synchronised"}
    return Scenario.from_dict({"repetitions": 1, "hosts": hosts, **tables, "flows": flows})


def _run(scenario: Scenario, folder: Path) -> Dataset:
    return sweep(scenario, folder, SweepSettings())


def _chosen(tables: Tables, algorithm: str, limit: str | None = None) -> Tables:
    """Keep the runs whose first flow has this algorithm, at one buffer or at all of them."""
    runs = tables.runs.collect()
    first = tables.flows.filter(pl.col("flow") == 0, pl.col("algorithm") == algorithm).select("run").collect()
    chosen = runs.filter(pl.col("run").is_in(first["run"].to_list()))
    if limit is not None:
        chosen = chosen.filter(pl.col("path.queue.limit") == limit)
    return select_runs(tables, chosen["run"].to_list())


def _draw(figure: str, tables: Tables, path: Path) -> None:
    _save(draw(figure, tables, View(width_px=_WIDTH_PX, most_rows=_MOST_ROWS)), path)


def _save(chart: Chart, path: Path) -> None:
    path.write_bytes(with_palette(vl_convert.vegalite_to_png(chart.to_dict(), scale=_PIXELS_PER_POINT)))


def _queueing(run: Tables) -> Queueing:
    queue = REGISTRY["queue"].compute(run).row(0, named=True)
    used = REGISTRY["utilisation"].compute(run)["utilisation"].item()
    again = REGISTRY["retransmitted"].compute(run)["retransmitted_fraction"].item()
    return Queueing(100 * used, queue["queue_mean_packets"], queue["queue_mean_ms"], 100 * again)


def _shares_percent(runs: Tables) -> tuple[float, ...]:
    """Return the share of the first flow in each run, in the order of the buffers."""
    shares = REGISTRY["share"].compute(runs).filter(pl.col("flow") == 0).sort("run")["share"]
    return tuple(100 * share for share in shares)


def _draw_loss(run: Tables, path: Path) -> Loss:
    at_s = _loneliest_loss_s(run)
    view = View(width_px=_WIDTH_PX, between_s=(at_s - _BEFORE_S, at_s + _AFTER_S))
    _save(draw("window", run, view), path)
    time = pl.col("time_s")
    windows = run.samples.select("time_s", "cwnd_packets").sort("time_s").collect()
    before = windows.filter(time <= at_s)["cwnd_packets"].to_list()
    soon = windows.filter(time.is_between(at_s, at_s + _SOON_S))["cwnd_packets"].to_list()
    after = windows.filter(time <= at_s + _AFTER_S)["cwnd_packets"].to_list()
    return Loss(at_s, before[-1], min(soon), after[-1])


def _loneliest_loss_s(run: Tables) -> float:
    """Find the packet that the path drops in the steady interval, farthest from other drops."""
    steady = run.runs.select("steady_from_s", "duration_s").collect().row(0)
    drops = run.events.filter(pl.col("kind") == "drop").select("time_s", "link").sort("time_s").collect()
    before = pl.col("time_s").diff().fill_null(steady[1]).clip(upper_bound=_AFTER_S)
    after = pl.col("time_s").diff(-1).abs().fill_null(steady[1]).clip(upper_bound=_AFTER_S)
    lost = (
        drops.with_columns(alone_s=pl.min_horizontal(before, after))
        .filter(pl.col("link") == "loss_list", pl.col("time_s").is_between(steady[0], steady[1] - _AFTER_S))
        .sort("alone_s", descending=True, maintain_order=True)["time_s"]
    )
    if lost.is_empty():
        algorithm = run.flows.select("algorithm").collect().item()
        sys.exit(f"no packet that {algorithm} loses is of the measured time: name others in _LOST")
    return lost[0]
