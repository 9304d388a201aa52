"""The short table that ends `tussle run` and `tussle matrix`."""

from collections.abc import Iterable

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table

from tussle.dataset import Dataset
from tussle.dataset.validity import late_runs
from tussle.metrics import REGISTRY, axis_columns, pairs, summarise
from tussle.statistics import repeated_in_vain

_MOST_ROWS = 40
"""A terminal's worth; the rest is in the report."""
_WHOLE_FROM = 999.5
_LEAST_SHOWN = 0.001
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


def note_on_repetitions(dataset: Dataset) -> str:
    """Say whether more, or fewer, repetitions would have told more; nothing if they are right."""
    thrown = dataset.scenario.random_parts()
    if repeated_in_vain(dataset):
        if thrown:
            return (
                "all repetitions of a point came out the same: the dice that are thrown do not matter here, "
                "and --repetitions 1 tells as much"
            )
        return (
            "all repetitions of a point are the same run, for nothing in it is random: leave repetitions out"
        )
    once = dataset.runs.select(pl.col("repetition").max()).collect().item() == 0
    if once and thrown:
        return "each point ran once, though dice are thrown: --repetitions 10 says how sure the numbers are"
    return ""


def note_on_hosts(dataset: Dataset) -> str:
    """Say which runs are not to be trusted, since a host did not keep up; nothing if all did."""
    late = late_runs(dataset.validity)
    lines = [f"  run {run}: {shortfall}" for run, shortfall in late.head(_MOST_ROWS).iter_rows()]
    runs = dataset.runs.select(pl.len()).collect().item()
    told = f"in {late.height} of {runs} runs a host did not keep up; table validity tells of each flow:"
    return "\n".join([told, *lines]) if lines else ""


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
    "goodput\nMbit/s": ("goodput", "goodput_bit_per_s", 1e-6),
    "share\n%": ("share", "share", 100),
    "resent\n%": ("retransmitted", "retransmitted_fraction", 100),
    "time-\nouts": ("timeouts", "steady_timeouts", 1),
    "RTT\nms": ("rtt", "rtt_p50_ms", 1),
}
_RUN_COLUMNS = {
    "Jain\nindex": ("jain", "jain_index", 1),
    "link\n%": ("utilisation", "utilisation", 100),
    "queue\nms": ("queue", "queue_mean_ms", 1),
}
"""Title, short for terminals of 80 columns: metric, its column, factor."""


def _rows(dataset: Dataset) -> Table:
    """Lay out the medians over the repetitions of each point."""
    axes = [axis for axis in axis_columns(dataset) if not axis.endswith(".algorithm")]  # it has its column
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
    axis_titles = [axis.replace(".", ".\n") for axis in axes]
    table = Table(*axis_titles, "flow", "algo-\nrithm", *numbers, box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    for row in flows.head(_MOST_ROWS).iter_rows(named=True):
        own = [_number(row[column], factor) for _, column, factor in _FLOW_COLUMNS.values()]
        shared = [_number(row[column], factor) for _, column, factor in _RUN_COLUMNS.values()]
        first = row["flow"] == 0
        table.add_row(
            *(row[axis] if first else "" for axis in axes),
            row["name"],
            row["algorithm"],
            *own,
            *(shared if first else [""] * len(shared)),
        )
    if flows.height > _MOST_ROWS:
        table.caption = f"and {flows.height - _MOST_ROWS} rows more in the report"
    return table


def _number(value: float | None, factor: float) -> str:
    """Write three digits, or the whole number; less than a thousandth is said to be so."""
    if value is None:
        return "-"
    number = value * factor
    if 0 < number < _LEAST_SHOWN:
        return f"<{_LEAST_SHOWN}"
    return f"{number:.3g}" if abs(number) < _WHOLE_FROM else f"{number:.0f}"
