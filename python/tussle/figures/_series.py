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
    if len(table) <= most_rows:
        return table
    groups = max(1, most_rows // 3)
    place = pl.int_range(pl.len())
    kept = (
        table.with_columns(place.alias("_row"), (place * groups // pl.len()).alias("_group"))
        .group_by("_group")
        .agg(
            pl.concat_list(
                pl.col("_row").first(),
                pl.col("_row").sort_by(value).first(),
                pl.col("_row").sort_by(value).last(),
            ).alias("_rows")
        )["_rows"]
        .explode()
        .unique()
        .sort()
    )
    last = pl.Series([len(table) - 1], dtype=kept.dtype)
    return table[pl.concat([kept, last]).unique().sort()]
