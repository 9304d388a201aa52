"""Values of the runs by algorithm, and by network if there are several: the input of boxes and curves."""

from __future__ import annotations

from collections.abc import Callable

import altair as alt
import polars as pl

from tussle.errors import TussleError, argument, plural
from tussle.figures._figure import Chart, View
from tussle.figures._palette import algorithm_colour
from tussle.figures._quantity import Quantity, each_value, quantity
from tussle.metrics import Tables, axis_columns

LEAST_VALUES = 3
"""Least number of values of one algorithm in one network; fewer have no distribution."""
_MOST_PANELS = 12
_COLUMNS = 3
_MOST_NAMES = 30


def spread(tables: Tables, metric: str, view: View) -> tuple[Quantity, pl.DataFrame]:
    """Return the quantity and `algorithm, network, value`, one row a flow and run (or a run).

    A quantity of runs goes by the names of all algorithms in them. Raises TussleError where no algorithm
    has enough values.
    """
    chosen = quantity(metric, tables)
    runs = tables.runs.select("run", "point", network=_network(tables)).collect()
    if view.point is not None:
        runs = runs.filter(pl.col("point") == view.point)
    keys = ["run", "flow"] if chosen.is_of_flows else ["run"]
    values = each_value(chosen, tables).join(_names(tables, chosen), on=keys).join(runs, on="run")
    found = values.sort("point", *keys).select("algorithm", "network", pl.col("value").round_sig_figs(6))
    most = max(found.group_by("algorithm", "network").len()["len"].to_list(), default=0)
    if most < LEAST_VALUES:
        raise TussleError(
            f"no algorithm has more than {plural(most, 'value')} of the {chosen.words} here, and a "
            f"distribution needs {LEAST_VALUES}; repeat the runs, with {argument('repetitions', 10)}"
        )
    for column, limit in (("network", _MOST_PANELS), ("algorithm", _MOST_NAMES)):
        count = found[column].n_unique()
        if count > limit:
            raise TussleError(
                f"there are {count} {column}s here, and {limit} fit; choose one with {argument('point')}"
            )
    return chosen, found


def in_networks(values: pl.DataFrame, panel: Callable[[pl.DataFrame], alt.LayerChart]) -> Chart:
    """Draw a panel for each network, on axes that they share."""
    parts = values.partition_by("network", maintain_order=True)
    if len(parts) == 1:
        return panel(parts[0])
    drawn = [panel(part).properties(title=_heading(part)) for part in parts]
    return alt.concat(*drawn, columns=min(_COLUMNS, len(drawn))).resolve_scale(x="shared", y="shared")


def boxes(values: pl.DataFrame) -> pl.DataFrame:
    """Return `algorithm, q1, median, q3, mean, low, high`: the values of a box (Tukey, 1977).

    `low` and `high` are the ends of the whiskers: the farthest values within 1.5 times the distance of the
    quartiles from them.
    """
    value = pl.col("value")
    reach = 1.5 * (pl.col("q3") - pl.col("q1"))
    quartiles = values.with_columns(
        value.quantile(0.25, "linear").over("algorithm").alias("q1"),
        value.quantile(0.75, "linear").over("algorithm").alias("q3"),
    )
    return quartiles.group_by("algorithm", maintain_order=True).agg(
        pl.col("q1", "q3").first(),
        value.median().alias("median"),
        value.mean().alias("mean"),
        value.filter(value >= pl.col("q1") - reach).min().alias("low"),
        value.filter(value <= pl.col("q3") + reach).max().alias("high"),
    )


def beyond(values: pl.DataFrame) -> pl.DataFrame:
    """Return the `algorithm` and `value` of each value beyond the whiskers."""
    whiskers = boxes(values).select("algorithm", "low", "high")
    inside = pl.col("value").is_between("low", "high")
    found = values.join(whiskers, on="algorithm").filter(~inside)
    return found.select("algorithm", "value").sort("algorithm", "value")


def _heading(part: pl.DataFrame) -> alt.TitleParams:
    return alt.TitleParams(part["network"][0], fontSize=12, fontWeight="normal", offset=4)


def colours(values: pl.DataFrame) -> alt.Scale:
    """Return the colours of the algorithms, in the order of the rows."""
    names = values["algorithm"].unique(maintain_order=True).to_list()
    return alt.Scale(domain=names, range=[algorithm_colour(name.partition(" ")[0]) for name in names])


def _network(tables: Tables) -> pl.Expr:
    axes = [axis for axis in axis_columns(tables) if not axis.endswith(".algorithm")]
    named = [pl.format("{} = {}", pl.lit(axis), pl.col(axis)) for axis in axes]
    return pl.concat_str(named, separator=", ") if named else pl.lit("")


def _names(tables: Tables, chosen: Quantity) -> pl.DataFrame:
    flows = tables.flows.select("run", "flow", "algorithm").sort("run", "flow").collect()
    if chosen.is_of_flows:
        return flows
    together = pl.col("algorithm").unique(maintain_order=True).str.join(" and ")
    return flows.group_by("run", maintain_order=True).agg(together)
