"""The printed numbers of a study as results, so that its conclusions can be checked on its own tables."""

from __future__ import annotations

from typing import Any, cast

import polars as pl

from tussle.errors import TussleError
from tussle.metrics import REGISTRY
from tussle.papers._statements import Checked, cases_of, parts_of
from tussle.papers._study import Statement, Study, is_key
from tussle.predicates import Quantity
from tussle.scenario import Scenario

_OF_GOODPUTS = ("share", "jain", "total", "order_effect")
"""Metrics that need nothing but goodputs."""


class Printed:
    """The printed numbers of a part: a run for each printed point.

    The flows have the goodputs that are printed, from which shares and fairness indices follow. Other
    quantities are known if they are printed themselves.
    """

    def __init__(self, study: Study, part: str) -> None:
        scenario = study.scenario(part)
        printed = study.published().filter(pl.col("part") == part)
        axes = [key for key in printed.columns if is_key(key) and printed[key].null_count() < printed.height]
        points = list(printed.group_by(axes, maintain_order=True)) if axes else []
        rows = [dict(zip(axes, key, strict=True)) for key, _ in points]
        runs = [{"run": run, "point": run, "repetition": 0} | row for run, row in enumerate(rows)]
        self._direct: dict[tuple[Any, ...], dict[tuple[int, int | None], float]] = {}
        flows = []
        for run, (row, (_, numbers)) in enumerate(zip(rows, points, strict=True)):
            algorithms = _algorithms(scenario, row, alike=study.parts[part].alike)
            goodputs = self._read(study, run, numbers, _count(scenario, row, alike=study.parts[part].alike))
            flows += [
                {
                    "run": run,
                    "flow": flow,
                    "name": f"flow-{flow}",
                    "algorithm": algorithm,
                    "goodput_bit_per_s": goodputs.get(flow),
                }
                for flow, algorithm in enumerate(algorithms)
            ]
        self._is_whole = all(flow.count == 1 for flow in scenario.flows)
        """Whether each table of flows is one flow, so that metrics of all flows follow from printed ones."""
        whole = {"run": pl.UInt32, "point": pl.UInt32, "repetition": pl.UInt32}
        self.runs = pl.LazyFrame(runs, schema=whole | dict.fromkeys(axes, pl.String))
        columns = {
            "run": pl.UInt32,
            "flow": pl.UInt32,
            "name": pl.String,
            "algorithm": pl.String,
            "goodput_bit_per_s": pl.Float64,
        }
        self.flows = pl.LazyFrame(flows, schema=columns)
        self.samples = self.links = self.events = pl.LazyFrame()

    def _read(self, study: Study, run: int, numbers: pl.DataFrame, count: int) -> dict[int, float]:
        """Note what is printed of a run; returns the goodput in bit/s by flow."""
        goodputs: dict[int, float] = {}
        for row in numbers.to_dicts():
            [table] = [each for each in study.tables if each.name == row["table"]]
            for column in table.columns:
                if row[column.name] is None:
                    continue
                value = row[column.name] / column.scale / (count if column.flow == "sum" else 1)
                flow = column.flow if isinstance(column.flow, int) else 0
                is_of_run = "flow" not in REGISTRY[column.metric].per
                self._direct.setdefault(_key(column), {})[run, None if is_of_run else flow] = value
                if _key(column) == _key(Quantity()):
                    goodputs[flow] = value
        return goodputs

    def values(self, quantity: Quantity) -> pl.DataFrame:
        """Return `run, flow, value` in the unit of the quantity; raises TussleError if it is not printed."""
        schema = {"run": pl.UInt32, "flow": pl.UInt32, "value": pl.Float64}
        if found := self._direct.get(_key(quantity)):
            rows = [(run, flow, value * quantity.scale) for (run, flow), value in found.items()]
            return pl.DataFrame(rows, schema=schema, orient="row")
        metric = REGISTRY[quantity.metric]
        both = self.flows.filter(pl.col("goodput_bit_per_s").is_not_null().all().over("run")).collect()
        if not self._is_whole or quantity.metric not in _OF_GOODPUTS or both.is_empty():
            raise TussleError(f"{quantity.metric} is not printed")
        complete = _Complete(self.runs.join(both.lazy(), on="run", how="semi"), both.lazy())
        table = metric.compute(complete)
        name = quantity.column or next(each for each in table.columns if each not in metric.per)
        flow = pl.col("flow") if "flow" in metric.per else pl.lit(None, pl.UInt32).alias("flow")
        return table.select("run", flow, (pl.col(name) * quantity.scale).alias("value"))


class _Complete:
    """The printed runs in which the goodput of every flow is known."""

    def __init__(self, runs: pl.LazyFrame, flows: pl.LazyFrame) -> None:
        self.runs, self.flows = runs, flows
        self.samples = self.links = self.events = pl.LazyFrame()


def on_printed_numbers(study: Study, statement: Statement) -> Checked:
    """Check a conclusion on the study's own tables, as far as they print what its checks compare."""
    # What is printed are means.
    of_means = [each for each in statement.checks if each.quantile is None]
    printed = {part: Printed(study, part) for each in of_means for part in parts_of(each)}
    found = []
    for each in of_means:
        try:
            found += cases_of(each, printed, lambda part, quantity: printed[part].values(quantity))
        except TussleError:
            continue
    return Checked(statement, tuple(found))


def _algorithms(scenario: Scenario, keys: dict[str, str | None], *, alike: bool) -> list[str]:
    """Return the algorithm of each flow of a printed point."""
    first = keys.get("flows.0.algorithm")
    given = [keys.get(f"flows.{index}.algorithm") for index in range(len(scenario.flows))]
    return [
        str(own or (first if alike else flow.algorithm))
        for own, flow in zip(given, scenario.flows, strict=True)
    ]


def _count(scenario: Scenario, keys: dict[str, str | None], *, alike: bool) -> int:
    """Return the number of flows of a printed point."""
    first = keys.get("flows.0.count")
    given = [keys.get(f"flows.{index}.count") for index in range(len(scenario.flows))]
    return sum(
        int(own or (first if alike and first else cast("int", flow.count)))
        for own, flow in zip(given, scenario.flows, strict=True)
    )


def _key(quantity: Quantity) -> tuple[Any, ...]:
    """Return what identifies a printed quantity. Studies do not tell "steady" from "life"."""
    over = quantity.over if isinstance(quantity.over, tuple) else "whole"
    return quantity.metric, quantity.column, over
