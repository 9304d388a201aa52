"""The short table that ends `tussle run` and `tussle matrix`."""

from collections.abc import Iterable

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from tussle.dataset import Dataset
from tussle.metrics import REGISTRY, axis_columns, pairs, summarise

_MOST_ROWS = 40
"""A terminal's worth; the rest is in the report."""
_APART = "do not"
"""The verdict of pairs that cannot share."""


def summary(dataset: Dataset) -> Iterable[Table]:
    """Return a matrix for each network where the runs are pairs of algorithms, else a row for each flow."""
    compared = REGISTRY["coexistence"].compute(dataset)
    if pairs(dataset)["first"].n_unique() > 1:
        return [
            _matrix(dataset, compared.filter(pl.col("slice") == each))
            for each in _in_order(compared["slice"])
        ]
    return [_rows(dataset)]


def _in_order(column: pl.Series) -> list[str]:
    return column.unique(maintain_order=True).to_list()


def _matrix(dataset: Dataset, verdicts: pl.DataFrame) -> Table:
    """Lay out the two goodputs of each pair: who started in the rows, who joined in the columns."""
    goodput = summarise(REGISTRY["goodput"], dataset)
    mbit_per_s = {(point, flow): value / 1e6 for point, flow, value in _cells(goodput, "goodput_bit_per_s")}
    seconds = _in_order(verdicts["second"])
    network = verdicts["slice"][0]
    title = "Goodput of the first and of the second flow, Mbit/s" + (f", {network}" if network else "")
    columns = [Column(second, justify="right") for second in seconds]
    table = Table("first \\ second", *columns, title=title, box=SIMPLE_HEAD, title_justify="left")
    for first in _in_order(verdicts["first"]):
        row = {}
        for point, second, verdict in (
            verdicts.filter(pl.col("first") == first).select("point", "second", "verdict").iter_rows()
        ):
            goodputs = f"{mbit_per_s[point, 0]:.1f} / {mbit_per_s[point, 1]:.1f}"
            row[second] = f"[red]{goodputs} *[/]" if verdict == _APART else f"{goodputs}  "
        table.add_row(first, *(row.get(second, "") for second in seconds))
    table.caption = "* not shared: in the median run one gets much less than the other"
    return table


def _cells(table: pl.DataFrame, value: str) -> Iterable[tuple[int, int, float]]:
    return table.select("point", "flow", value).iter_rows()


_FLOW_COLUMNS = {
    "goodput Mbit/s": ("goodput", "goodput_bit_per_s", 1e-6, ".2f"),
    "share %": ("share", "share", 100, ".1f"),
    "retransmitted %": ("retransmitted", "retransmitted_fraction", 100, ".3f"),
    "timeouts": ("timeouts", "steady_timeouts", 1, ".0f"),
    "RTT median ms": ("rtt", "rtt_p50_ms", 1, ".1f"),
}
_RUN_COLUMNS = {
    "Jain": ("jain", "jain_index", 1, ".3f"),
    "link used %": ("utilisation", "utilisation", 100, ".1f"),
    "queue mean ms": ("queue", "queue_mean_ms", 1, ".1f"),
}
"""Title: metric, its column, factor, format."""


def _rows(dataset: Dataset) -> Table:
    """Lay out the medians over the repetitions of each point."""
    axes = axis_columns(dataset)
    runs = dataset.runs.collect()
    flows = (
        dataset.flows.select("run", "flow", "name", "algorithm")
        .collect()
        .join(runs.select("run", "point", *axes), on="run")
        .unique(["point", "flow"], keep="first", maintain_order=True)
        .sort("point", "flow")
    )
    for metric, column, *_ in (*_FLOW_COLUMNS.values(), *_RUN_COLUMNS.values()):
        values = summarise(REGISTRY[metric], dataset)
        keys = [key for key in ("point", "flow") if key in values.columns]
        flows = flows.join(values.select(*keys, column), on=keys, how="left")
    numbers = [Column(title, justify="right") for title in (*_FLOW_COLUMNS, *_RUN_COLUMNS)]
    table = Table(*axes, "flow", "algorithm", *numbers, box=SIMPLE_HEAD)
    for row in flows.head(_MOST_ROWS).iter_rows(named=True):
        own = [_number(row[column], factor, form) for _, column, factor, form in _FLOW_COLUMNS.values()]
        shared = [_number(row[column], factor, form) for _, column, factor, form in _RUN_COLUMNS.values()]
        first = row["flow"] == 0
        table.add_row(
            *(row[axis] if first else "" for axis in axes),
            row["name"],
            row["algorithm"],
            *own,
            *(shared if first else [""] * len(shared)),
        )
    if flows.height > _MOST_ROWS:
        table.caption = "* not shared: in the median run one gets much less than the other"
    return table


def _number(value: float | None, factor: float, form: str) -> str:
    return "-" if value is None else format(value * factor, form)
