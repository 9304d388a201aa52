"""The `flows` table of engines that measure real hosts."""

import polars as pl

from tussle.dataset.schema import FLOWS

_GOODPUT = "goodput_bit_per_s"


def flows_frame(measured: pl.DataFrame, steady_s: float) -> pl.DataFrame:
    """Return the `flows` table of one run, without the column `run`.

    `measured` has a row for each flow and some of the table's columns; the others are empty. Goodput follows
    from `steady_delivered_bytes` over the `steady_s` seconds of the steady interval.
    """
    goodput = 8.0 * pl.col("steady_delivered_bytes").cast(pl.Float64) / steady_s
    known = measured.with_columns(goodput.alias(_GOODPUT))
    return known.select(
        (pl.col(name) if name in known.columns else pl.lit(None)).cast(dtype).alias(name)
        for name, dtype in FLOWS.schema().items()
        if name != "run"
    )
