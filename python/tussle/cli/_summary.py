"""The table and the notes at the end of `tussle run` and `tussle matrix`."""

from collections.abc import Iterable, Mapping
from typing import Any

import polars as pl
from rich.box import SIMPLE_HEAD
from rich.table import Column, Table
from rich.text import Text

from tussle.dataset import KERNEL_AXIS, Dataset
from tussle.dataset.limits import LIMITED_FROM, limited_flows, limits_in_words
from tussle.dataset.validity import late_runs
from tussle.metrics import REGISTRY, axis_columns, pairs, summarise
from tussle.metrics.coexistence import NO, REMEDIES, THRESHOLD, UNCLEAR
from tussle.metrics.steadiness import note_on_steadiness
from tussle.statistics import LEAST, repeated_in_vain

_MOST_ROWS = 40
"""Largest number of rows in the terminal; the report has all of them."""
_ALIKE_FROM = 4
"""Fewer similar flows have a row each, so that differences between them are visible."""
_WHOLE_FROM = 999.5
_LEAST_SHOWN = 0.001
_MOST_PAIRS_NAMED = 6
_MARKS = {NO: ("*", "red"), UNCLEAR: ("?", "yellow")}
"""Mark and colour of a verdict in the matrix."""


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
    """Return a note if another number of repetitions would be better, else an empty text."""
    random_parts = dataset.scenario.random_parts()
    if repeated_in_vain(dataset):
        if random_parts:
            return (
                "all repetitions of a point have the same results: randomness does not matter here, and "
                "--repetitions 1 is enough"
            )
        return "all repetitions of a point are identical, because nothing is random: leave repetitions out"
    once = dataset.runs.select(pl.col("repetition").max()).collect().item() == 0
    if once and random_parts:
        return "each point with random parts ran once: --repetitions 10 gives confidence intervals"
    return ""


def note_on_kernels(dataset: Dataset) -> str:
    """Return where differences between kernels are shown; an empty text if there is one kernel."""
    if KERNEL_AXIS not in axis_columns(dataset):
        return ""
    return f"differences between the kernels: in the report, and by `tussle compare {dataset.folder}`"


def note_on_hosts(dataset: Dataset) -> str:
    """Return the runs that are invalid because a host did not keep up; an empty text if there are none."""
    late = late_runs(dataset.validity)
    lines = [f"  run {run}: {shortfall}" for run, shortfall in late.head(_MOST_ROWS).iter_rows()]
    runs = dataset.runs.select(pl.len()).collect().item()
    title = f"in {late.height} of {runs} runs a host did not keep up; the table validity has every flow:"
    return "\n".join([title, *lines]) if lines else ""


def note_on_buffers(dataset: Dataset) -> str:
    """Return the flows that a buffer of their hosts limited; an empty text if there are none."""
    limited = limited_flows(dataset.runs, dataset.flows)
    if limited.is_empty():
        return ""
    named = limits_in_words(limited, _MOST_PAIRS_NAMED)
    more = f"; and {limited.height - len(named)} more" if limited.height > len(named) else ""
    return (
        f"limited by a buffer, and not by the network, for more than {LIMITED_FROM:.0%} of the steady "
        f"interval: {'; '.join(named)}{more}"
    )


def _in_order(column: pl.Series) -> list[str]:
    return column.unique(maintain_order=True).to_list()


def note_on_verdicts(dataset: Dataset) -> str:
    """Return pairs with an unclear verdict, by reason, with the remedy; an empty text if there is none."""
    found = REGISTRY["coexistence"].compute(dataset).filter(pl.col("verdict") == UNCLEAR)
    lines = []
    for (reason,), rows in found.group_by("reason", maintain_order=True):
        named = [f"{row['first']} then {row['second']}" for row in rows.head(_MOST_PAIRS_NAMED).to_dicts()]
        more = f" and {rows.height - len(named)} more" if rows.height > len(named) else ""
        remedy = REMEDIES[str(reason)]
        lines.append(f"unclear ({reason}; {remedy} would decide): {', '.join(named)}{more}")
    return "\n".join(lines)


def _matrix(dataset: Dataset, verdicts: pl.DataFrame) -> Table:
    """Return the two goodputs of each pair: the first flow in the rows, the second in the columns."""
    goodput = summarise(REGISTRY["goodput"], dataset)
    mbit_per_s = {(point, flow): value / 1e6 for point, flow, value in _cells(goodput, "goodput_bit_per_s")}
    seconds = _in_order(verdicts["second"])
    network = verdicts["slice"][0]
    title = "Goodput of the first and of the second flow, Mbit/s" + (f", {network}" if network else "")
    columns = [Column(second, justify="right") for second in seconds]
    table = Table("first \\ second", *columns, title=title, box=SIMPLE_HEAD, title_justify="left")
    for first in _in_order(verdicts["first"]):
        row = {}
        for pair in verdicts.filter(pl.col("first") == first).iter_rows(named=True):
            goodputs = f"{mbit_per_s[pair['point'], 0]:.1f} / {mbit_per_s[pair['point'], 1]:.1f}"
            row[pair["second"]] = _cell(goodputs, pair)
        table.add_row(first, *(row.get(second, "") for second in seconds))
    runs = max(verdicts["runs"].drop_nulls().to_list(), default=0)
    spread = f" and {'95 % interval' if runs >= LEAST else 'range'} of {runs} runs" if runs > 1 else ""
    table.caption = (
        f"second line: the smaller flow's share of both goodputs in %, median{spread}\n"
        f"* the flows do not share fairly: the smaller share is below {THRESHOLD * 100:.0f} %; ? unclear"
    )
    return table


def _cell(goodputs: str, pair: Mapping[str, Any]) -> Text:
    """Format a pair: goodputs and verdict, and on a second line the smaller share with its spread."""
    mark, colour = _MARKS.get(pair["verdict"], (" ", ""))
    if pair["smaller_share"] is None:
        return Text(f"{goodputs}  ")
    parts = [pair[f"smaller_share{part}"] * 100 for part in ("", "_low", "_high")]
    share, low, high = (f"{part:.0f}" for part in parts)
    spread = share if pair["runs"] == 1 else f"{share} [{low}, {high}]"
    text = Text(f"{goodputs} {mark}\n", colour)
    return text.append(f"{spread}  ", "dim")


def _cells(table: pl.DataFrame, value: str) -> Iterable[tuple[int, int, float]]:
    return table.select("point", "flow", value).iter_rows()


_FLOW_COLUMNS = {
    "goodput\nMbit/s": ("goodput", "goodput_bit_per_s", 1e-6),
    "share\n%": ("share", "share", 100),
    "took\ns": ("completion", "completion_s", 1),
    "retr.\n%": ("retransmitted", "retransmitted_fraction", 100),
    "time-\nouts": ("timeouts", "steady_timeouts", 1),
    "RTT\nms": ("rtt", "rtt_p50_ms", 1),
}
_RUN_COLUMNS = {
    "Jain\nindex": ("jain", "jain_index", 1),
    "link\n%": ("utilisation", "utilisation", 100),
    "queue\nms": ("queue", "queue_mean_ms", 1),
}
"""By title, which is short for terminals of 80 columns: the metric, its column, and a factor."""
_OF_TRANSFERS = {"completion"}
_OF_GREEDY_FLOWS = {"share", "jain"}
"""Metrics that are not shown where flows have a size."""


def _rows(dataset: Dataset) -> Table:
    """Return the medians over the repetitions of each point."""
    axes = [axis for axis in axis_columns(dataset) if not axis.endswith(".algorithm")]  # it has its column
    hidden = _OF_GREEDY_FLOWS if _has_transfers(dataset) else _OF_TRANSFERS
    of_flows, of_runs = (
        {title: column for title, column in columns.items() if column[0] not in hidden}
        for columns in (_FLOW_COLUMNS, _RUN_COLUMNS)
    )
    rows = _medians_of_flows(dataset, of_flows.values())
    for metric, column, _ in of_runs.values():
        values = summarise(REGISTRY[metric], dataset)
        rows = rows.join(values.select("point", column), on="point", how="left")
    points = dataset.runs.select("point", *axes).unique("point").collect()
    rows = rows.join(points, on="point", how="left").sort("point", "flow")
    numbers = [Column(title, justify="right") for title in (*of_flows, *of_runs)]
    axis_titles = [axis.replace(".", ".\n") for axis in axes]
    table = Table(*axis_titles, "flow", "algo-\nrithm", *numbers, box=SIMPLE_HEAD, padding=(0, 0, 0, 1))
    point = None
    for row in rows.head(_MOST_ROWS).iter_rows(named=True):
        own = [_number(row[column], factor) for _, column, factor in of_flows.values()]
        shared = [_number(row[column], factor) for _, column, factor in of_runs.values()]
        first = row["point"] != point
        point = row["point"]
        table.add_row(
            *(row[axis] if first else "" for axis in axes),
            row["who"] if row["flows"] == 1 else f"{row['flows']} x {row['who']}",
            row["algorithm"],
            *own,
            *(shared if first else [""] * len(shared)),
        )
    notes = []
    if rows["flows"].max() != 1:
        notes.append("a row has the medians of all flows whose names differ by a number")
    if rows.height > _MOST_ROWS:
        notes.append(f"and {rows.height - _MOST_ROWS} more rows in the report")
    table.caption = "; ".join(notes)
    return table


def _has_transfers(dataset: Dataset) -> bool:
    return dataset.flows.select(pl.col("completion_s").is_not_null().any()).collect().item()


def _medians_of_flows(dataset: Dataset, columns: Iterable[tuple[str, str, float]]) -> pl.DataFrame:
    """Return a row for each flow of a point; if there are too many, one row for several similar flows.

    Columns: `point, who, algorithm, flow` (the first one's number), `flows` (how many) and the medians.
    """
    runs = dataset.runs.select("run", "point")
    flows = dataset.flows.select("run", "flow", "name", "algorithm").join(runs, on="run").collect()
    who = pl.col("name")
    if flows.select("point", "flow").n_unique() > _MOST_ROWS:
        kind = who.str.replace(r"-\d+$", "")
        alike = who.n_unique().over("point", kind, "algorithm")
        who = pl.when(alike >= _ALIKE_FROM).then(kind).otherwise(who)
    flows = flows.with_columns(who.alias("who"))
    keys = ["point", "who", "algorithm"]
    medians = flows.group_by(keys).agg(pl.col("flow").min(), pl.col("name").n_unique().alias("flows"))
    for metric, column, _ in columns:
        values = REGISTRY[metric].compute(dataset).select("run", "flow", column)
        of_flows = flows.join(values, on=["run", "flow"], how="left")
        medians = medians.join(of_flows.group_by(keys).agg(pl.col(column).median()), on=keys)
    return medians


def _number(value: float | None, factor: float) -> str:
    """Format a number with three digits and at most three decimals, or as a whole number if that has more."""
    if value is None:
        return "-"
    number = value * factor
    if 0 < number < _LEAST_SHOWN:
        return f"<{_LEAST_SHOWN}"
    if abs(number) >= _WHOLE_FROM:
        return f"{number:.0f}"
    return f"{round(number, 3):.3g}"


NOTES = (
    note_on_verdicts,
    note_on_steadiness,
    note_on_buffers,
    note_on_repetitions,
    note_on_hosts,
    note_on_kernels,
)
"""The notes after the tables; each may be an empty text."""
