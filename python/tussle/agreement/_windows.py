"""The distance between two curves of a congestion window."""

from __future__ import annotations

from typing import NamedTuple

import numpy as np
import polars as pl

from tussle.agreement._quantities import first_losses
from tussle.metrics import Tables


class Curve(NamedTuple):
    """The window of one flow: times since its start in s, ascending, and packets."""

    time_s: np.ndarray
    window_packets: np.ndarray
    first_loss_s: float | None


def distance(curve: Curve, reference: Curve) -> float | None:
    """Return the mean of |w - w'| over the mean of w', the reference; None where they share no time.

    The curve is first shifted in time, so that the first losses of both coincide. The distance is the mean
    error of the window as a fraction of the window. It is 0 for equal curves, and about 0.2 for two sawtooths
    with equal mean and unrelated phases. Squared errors would be dominated by the few instants in which only
    one curve has fallen. A distance that warps time, such as dynamic time warping, would not detect a wrong
    period.
    """
    moved_s = curve.time_s - _delay_s(curve, reference)
    shared = (reference.time_s >= moved_s.min(initial=np.inf)) & (
        reference.time_s <= moved_s.max(initial=-np.inf)
    )
    window = reference.window_packets[shared]
    if not window.sum():
        return None
    interpolated = np.interp(reference.time_s[shared], moved_s, curve.window_packets)
    return float(np.abs(interpolated - window).mean() / window.mean())


def _delay_s(curve: Curve, reference: Curve) -> float:
    if curve.first_loss_s is None or reference.first_loss_s is None:
        return 0.0
    return curve.first_loss_s - reference.first_loss_s


def distances(tables: Tables, reference: Tables) -> pl.DataFrame:
    """Return `point, window_distance, own_distance`, each the mean over the repetitions.

    `window_distance` is the distance from the reference's run with the same seed. `own_distance` is the
    distance of each of the reference's repetitions from the next: the distance of an engine from itself with
    other random numbers. It is null with one repetition.
    """
    curves, own = _curves(tables), _curves(reference)
    points = reference.runs.select("run", "point").sort("run").collect()
    rows = []
    for (point,), runs in points.group_by("point", maintain_order=True):
        numbers = runs["run"].to_list()
        nexts = [*numbers[1:], numbers[0]] if len(numbers) > 1 else []
        between = [distance(curves[run], own[run]) for run in numbers]
        itself = [distance(own[one], own[other]) for one, other in zip(numbers, nexts, strict=False)]
        rows.append((point, _mean(between), _mean(itself)))
    schema = {"point": pl.UInt32, "window_distance": pl.Float64, "own_distance": pl.Float64}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _mean(values: list[float | None]) -> float | None:
    known = [value for value in values if value is not None]
    return sum(known) / len(known) if known else None


def _curves(tables: Tables) -> dict[int, Curve]:
    """Return the curve of the last flow of each run, empty where that flow has no sample."""
    last = tables.flows.filter(pl.col("flow") == pl.col("flow").max().over("run"))
    samples = (
        tables.samples.select("run", "flow", "time_s", "cwnd_packets")
        .join(last.select("run", "flow", "start_s"), on=["run", "flow"])
        .filter(pl.col("time_s") >= pl.col("start_s"))
        .select("run", (pl.col("time_s") - pl.col("start_s")).alias("time_s"), "cwnd_packets")
        .sort("run", "time_s")
        .collect()
    )
    losses = dict(first_losses(tables).iter_rows())
    by_run = {run: series for (run,), series in samples.group_by("run", maintain_order=True)}
    nothing = samples.clear()
    curves = {}
    for run in tables.runs.select("run").collect()["run"]:
        series = by_run.get(run, nothing)
        window = series["cwnd_packets"].cast(pl.Float64)
        curves[run] = Curve(series["time_s"].to_numpy(), window.to_numpy(), losses.get(run))
    return curves
