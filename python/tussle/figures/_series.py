"""Tables on their way into a chart: thinned, rounded, as inline CSV."""

from __future__ import annotations

import altair as alt
import polars as pl


def inline(table: pl.DataFrame) -> alt.InlineData:
    """Put a table into the chart itself, as CSV: a third of the size of JSON, and no limit on its rows."""
    return alt.InlineData(values=table.write_csv(float_precision=None), format=alt.CsvDataFormat(type="csv"))


def thin(table: pl.DataFrame, value: str, most_rows: int) -> pl.DataFrame:
    """Keep at most about `most_rows` rows of a series sorted by time, such that its extremes stay.

    The rows are cut into equal groups, of which the first and those with the smallest and the largest
    `value` stay, and the last row of all.
    """
    return thin_flows(table.with_columns(flow=0), value, most_rows).drop("flow")


def thin_flows(table: pl.DataFrame, value: str, most_rows: int) -> pl.DataFrame:
    """Thin the series of each `flow` as `thin` does; the table is sorted by flow and time."""
    place, rows = pl.int_range(pl.len()).over("flow"), pl.len().over("flow")
    group = place * max(1, most_rows // 3) // rows
    placed = table.lazy().with_columns(place.alias("_place"), rows.alias("_rows"), group.alias("_group"))
    extremes = [pl.col(value).arg_min(), pl.col(value).arg_max()]
    ends = [pl.col("_place").first(), *(pl.col("_place").get(extreme) for extreme in extremes)]
    is_end = pl.any_horizontal(pl.col("_place") == end.over("flow", "_group") for end in ends)
    is_last = pl.col("_place") == pl.col("_rows") - 1
    kept = placed.filter((pl.col("_rows") <= most_rows) | is_end | is_last)
    return kept.select(table.columns).collect()
