"""Order effect: the share that an algorithm gains by starting first."""

from __future__ import annotations

import polars as pl

from tussle.errors import TussleError
from tussle.metrics._metric import Metric, Tables
from tussle.metrics._pairs import pair_runs


def compute(tables: Tables) -> pl.DataFrame:
    """`run, order_effect`, -1 to 1; null where the run of the other order is missing or delivers nothing."""
    goodputs = pl.col("first_bit_per_s"), pl.col("second_bit_per_s")
    total = goodputs[0] + goodputs[1]
    both = pair_runs(tables).with_columns(
        pl.when(total > 0).then(goodputs[0] / total).alias("as_first"),
        pl.when(total > 0).then(goodputs[1] / total).alias("as_second"),
    )
    other = both.select("repetition", "first", "second", "slice", pl.col("as_second").alias("in_other_order"))
    keys = ["repetition", "slice"]
    table = both.join(
        other, left_on=[*keys, "first", "second"], right_on=[*keys, "second", "first"], how="left"
    )
    if table["in_other_order"].null_count() == table.height:
        raise TussleError(
            "order_effect needs pairs of flows in both orders of start, and this dataset has none; give "
            "both flows the same list of algorithms, as `tussle matrix` does"
        )
    gain = pl.col("as_first") - pl.col("in_other_order")
    return table.select("run", gain.alias("order_effect")).sort("run")


METRIC = Metric(
    name="order_effect",
    unit="1",
    definition="Share of the first flow minus the share of the same algorithm where it is the second flow "
    "and the other one starts first, in the same network and repetition. 0: the order does not matter; above "
    "0: the flow that starts first gets more. With several flows on a side, the share is x1 / (x1 + x2), "
    "where x1 and x2 are the mean goodputs per flow of each side. Where the sides differ in the number of "
    "flows or in RTT, the value also contains the effect of that difference.",
    source="the difference between the two orders of start, after RFC 5166, section 2.3.1",
    better="neither",
    per=("run",),
    compute=compute,
)
