"""The summary of a dataset: question, answer, tables and notes."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import polars as pl

from tussle import html
from tussle.answers._arguments import expect_dataset
from tussle.answers._flows import flow_grid, shown_columns
from tussle.answers._grid import Grid
from tussle.answers._notes import NOTES
from tussle.answers._pairs import pair_grids
from tussle.dataset import Dataset
from tussle.metrics import REGISTRY, axis_columns, pairs
from tussle.report import answer, question
from tussle.statistics import estimates


@dataclass(frozen=True)
class Summary:
    """What a dataset says, computed when it is asked for.

    Raises TussleError for another value than a dataset.
    """

    dataset: Dataset

    def __post_init__(self) -> None:
        expect_dataset(self.dataset)

    @cached_property
    def question(self) -> str:
        """The question of the scenario, or the one that its runs can answer."""
        return question(self.dataset)

    @cached_property
    def answer(self) -> str:
        """The answer, in a few sentences: those of the report."""
        return answer(self.dataset)

    @cached_property
    def notes(self) -> list[str]:
        """Limits of the results, and how to improve them."""
        return [text for note in NOTES if (text := note(self.dataset))]

    @cached_property
    def pairs(self) -> pl.DataFrame:
        """The verdict of the metric `coexistence` on each pair of flows, after the values of its axes.

        Empty where the runs are not pairs.
        """
        return self._placed(REGISTRY["coexistence"].compute(self.dataset))

    @cached_property
    def flows(self) -> pl.DataFrame:
        """A row for each flow of each point: medians over the repetitions, and ends of 95 % intervals.

        Columns: `point`, the axes, `flow, name, algorithm, repetitions`, then for each quantity its median,
        `…_low` and `…_high`, which are empty with fewer than six repetitions.
        """
        runs = self.dataset.runs.select("run", "point")
        named = self.dataset.flows.select("run", "flow", "name", "algorithm").join(runs, on="run").collect()
        first = named.sort("run", "flow").unique(["point", "flow"], keep="first", maintain_order=True)
        found = first.select("point", "flow", "name", "algorithm").sort("point", "flow")
        of_flows, _ = shown_columns(self.dataset)
        for metric, column, _ in of_flows.values():
            found = found.join(_estimated(self.dataset, metric, column), on=["point", "flow"], how="left")
        return self._placed(found)

    @cached_property
    def points(self) -> pl.DataFrame:
        """A row for each point, with the columns of `flows` for quantities of all flows together."""
        found = self.dataset.runs.group_by("point").agg(pl.len().alias("runs")).sort("point").collect()
        _, of_points = shown_columns(self.dataset)
        for metric, column, _ in of_points.values():
            values = _estimated(self.dataset, metric, column)
            # Of several links, the first.
            found = found.join(
                values.unique("point", keep="first", maintain_order=True), on="point", how="left"
            )
        return self._placed(found)

    @cached_property
    def grids(self) -> list[Grid]:
        """The tables to show: a matrix for each network if the runs are pairs, else a row for each flow."""
        if pairs(self.dataset)["first"].n_unique() > 1:
            return pair_grids(self.dataset)
        return [flow_grid(self.dataset)]

    def __repr__(self) -> str:
        return f"<Summary of {self.dataset.folder}: {self.answer}>"

    def _repr_html_(self) -> str:
        parts = [html.paragraph(self.question), html.paragraph(self.answer, strong=True)]
        parts += [grid._repr_html_() for grid in self.grids]
        return "".join([*parts, *map(html.paragraph, self.notes)])

    def _placed(self, table: pl.DataFrame) -> pl.DataFrame:
        """Return a table with the values of the axes after its column `point`."""
        return with_axes(table, self.dataset)


def with_axes(table: pl.DataFrame, dataset: Dataset) -> pl.DataFrame:
    """Return a table with a column `point`, followed by the values of the scenario's axes at that point."""
    axes = [axis for axis in axis_columns(dataset) if axis not in table.columns]
    points = dataset.runs.select("point", *axes).unique("point").collect()
    others = [column for column in table.columns if column != "point"]
    joined = table.join(points, on="point", how="left", maintain_order="left")
    return joined.select("point", *axes, *others)


def _estimated(dataset: Dataset, metric: str, column: str) -> pl.DataFrame:
    table = estimates(REGISTRY[metric], dataset)
    keys = [key for key in ("point", "flow") if key in table.columns]
    return table.select(*keys, column, f"{column}_low", f"{column}_high")
