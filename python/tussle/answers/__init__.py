"""Functions of a dataset: its summary, metrics, figures, report, and differences from another one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from os import PathLike
from pathlib import Path
from types import NoneType
from typing import TYPE_CHECKING, Literal

import polars as pl

from tussle.answers._arguments import (
    expect_dataset,
    expect_interval,
    expect_names,
    expect_period,
    expect_point,
    expect_size,
    expect_thresholds,
)
from tussle.answers._grid import Cell, Grid, Heading
from tussle.answers._notes import NOTES, note_on_hosts, note_on_kernels
from tussle.answers._picture import Picture
from tussle.answers._summary import Summary, with_axes
from tussle.compare import Along, Comparison, Question, along, compare, threshold
from tussle.dataset import KERNEL_AXIS, Dataset
from tussle.dataset.files import REPORT
from tussle.dataset.places import expect_place, place
from tussle.errors import TussleError, argument, expect
from tussle.figures import Beside, View, draw, resized, retitled
from tussle.metrics import REGISTRY, axis_columns
from tussle.report import Drawing, write
from tussle.statistics import estimates

if TYPE_CHECKING:
    from tussle.compare import Threshold

__all__ = [
    "NOTES",
    "Along",
    "Cell",
    "Comparison",
    "Grid",
    "Heading",
    "Picture",
    "Summary",
    "differences",
    "figure",
    "metric",
    "note_on_hosts",
    "note_on_kernels",
    "summary",
    "write_report",
]


def summary(dataset: Dataset) -> Summary:
    """Return the question, answer, tables and notes of a dataset, as `tussle run` prints them."""
    expect_dataset(dataset)
    return Summary(dataset)


def metric(dataset: Dataset, name: str, *, per: Literal["point", "run"] = "point") -> pl.DataFrame:
    """Return a metric of a dataset, after the values of the scenario's axes.

    Per point, each value is the median over the repetitions, beside its quartiles (`…_q1`, `…_q3`) and the
    ends of its 95 % interval (`…_low`, `…_high`); per run, there is a row for each run, in the order of the
    dataset. Units are in the names of the columns. Raises TussleError for an unknown metric, and for a
    dataset that lacks what it needs.
    """
    expect_dataset(dataset)
    expect("name", name, str, "the name of a metric")
    expect_period(per)
    chosen = REGISTRY[name]
    table = estimates(chosen, dataset) if per == "point" else chosen.compute(dataset)
    if per == "run" and "run" in table.columns:
        runs = dataset.runs.select("run", "point", "repetition").collect()
        table = table.join(runs, on="run", how="left", maintain_order="left")
    return with_axes(table, dataset) if "point" in table.columns else table


def figure(
    dataset: Dataset,
    name: str,
    *,
    point: int | None = None,
    metric: str | None = None,
    between_s: tuple[float, float] | None = None,
    beside: Dataset | Sequence[Dataset] = (),
    width_px: int | None = None,
    height_px: int | None = None,
    title: str | None = None,
) -> Picture:
    """Draw a figure of a dataset; `tussle list figures` shows their names.

    `point` is one point of the scenario (by default all, side by side), `metric` the quantity of a figure
    that has a choice, `between_s` the part of a time series, and `beside` the other datasets of an overlay.
    `width_px` and `height_px` are the size of all panels, without titles, axes and legends. `title` replaces
    the title; an empty one removes it.
    Raises TussleError for an unknown name, and for a dataset that lacks what the figure shows.
    """
    expect_dataset(dataset)
    expect("name", name, str, "the name of a figure")
    expect_point(point)
    expect("metric", metric, (str, NoneType), "the name of a metric")
    expect_interval(between_s)
    expect_size("width_px", width_px)
    expect_size("height_px", height_px)
    expect("title", title, (str, NoneType), "a text")
    expect("beside", beside, (Dataset, Sequence), "a dataset, or a list of datasets")
    others = _beside(dataset, [beside] if isinstance(beside, Dataset) else list(beside))
    view = View(
        point=point,
        metric=metric,
        between_s=between_s,
        beside=others[0] if others else None,
        further=tuple(others[1:]),
        width_px=width_px or View.width_px,
    )
    chart = resized(draw(name, dataset, view), width_px, height_px)
    return Picture(name, retitled(chart, title))


def write_report(
    dataset: Dataset, path: str | PathLike[str] | None = None, *, drawing: Drawing | None = None
) -> Path:
    """Write the report of a dataset, one HTML file that works offline, and return its path.

    By default it is `report.html` in the dataset's folder. `drawing` sets the worker processes and the
    progress display. Raises TussleError when the file cannot be written.
    """
    expect_dataset(dataset)
    expect_place("path", path, "a file")
    expect("drawing", drawing, (Drawing, NoneType), "a tussle.report.Drawing")
    return write(dataset, dataset.folder / REPORT if path is None else place(path), drawing)


def differences(
    first: Dataset,
    second: Dataset | None = None,
    *,
    axis: str | None = None,
    metrics: Sequence[str] = ("goodput",),
    thresholds: Mapping[str, str | float] | None = None,
) -> Comparison | Along:
    """Say which differences are real: between two datasets, or between the values of an axis of one.

    `thresholds` are the smallest differences that matter, by metric, like `{"jain": 0.01, "goodput": "2%"}`.
    Without `second`, the values of `axis` are compared, by default the kernels. Raises TussleError
    when nothing can be compared.
    """
    expect_dataset(first, "first")
    expect("axis", axis, (str, NoneType), "the name of an axis")
    expect_names("metrics", metrics, 'a list of metrics, like ["goodput", "jain"]')
    expect_thresholds(thresholds)
    limits: dict[str, Threshold] = dict(
        threshold(f"{name}={amount}") for name, amount in (thresholds or {}).items()
    )
    question = Question([*metrics, *limits], limits)
    if second is not None:
        expect_dataset(second, "second")
        if axis is not None:
            raise TussleError(
                f"{argument('axis', option='along')} compares the values of an axis of one dataset; leave it "
                "out, or give one dataset"
            )
        return compare(first, second, question)
    axes = axis_columns(first)
    if axis is None and KERNEL_AXIS not in axes:
        one_of = (
            f", or {argument('axis', option='along')} with one of its axes: {', '.join(axes)}" if axes else ""
        )
        raise TussleError(f"{first.folder} has one kernel; give a second dataset to compare it with{one_of}")
    try:
        return along(first, axis or KERNEL_AXIS, question)
    except TussleError as error:
        raise TussleError(f"{first.folder}: {error}") from error


def _beside(dataset: Dataset, others: Sequence[Dataset]) -> list[Beside]:
    """Name all datasets by what differs: engines, their versions, folders, or whole paths."""
    for other in others:
        expect_dataset(other, "beside")
    every = [dataset, *others]
    engines = [each.provenance.get("engine") or {} for each in every]
    choices = (
        [str(engine.get("name")) for engine in engines],
        [f"{engine.get('name')} {engine.get('version')}" for engine in engines],
        [each.folder.name for each in every],
    )
    first, *names = next(
        (names for names in choices if len(set(names)) == len(every)), [str(each.folder) for each in every]
    )
    return [Beside(other, name, first) for other, name in zip(others, names, strict=True)]
