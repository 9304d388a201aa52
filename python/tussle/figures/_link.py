"""Explanation of goodputs above the rate of the link, which look like errors."""

from __future__ import annotations

import polars as pl

from tussle.figures._buffer import PACKET_BITS
from tussle.metrics import Tables
from tussle.scenario.bottleneck import BOTTLENECK

_EXPLAINED = "values above the link rate: data that waited for a retransmission and were delivered at once"


def above_link(tables: Tables, goodputs_bit_per_s: pl.Series) -> str:
    """Explain goodputs that exceed the rate of the link that all runs have; empty if none does.

    Where the link itself sent faster, its rate changed, and nothing is explained.
    """
    rates = tables.runs.select("link_rate_bit_per_s").unique().collect()["link_rate_bit_per_s"]
    if len(rates) != 1 or rates[0] is None or not (goodputs_bit_per_s > rates[0]).any():
        return ""
    sent_bits = (pl.col("delivered_bytes").cast(pl.Int64).diff() * 8).over("run")
    most_bits = rates[0] * pl.col("time_s").diff().over("run") + PACKET_BITS
    links = tables.links.filter(pl.col("link") == BOTTLENECK).sort("run", "time_s")
    keeps_to_it = ((sent_bits <= most_bits).all() & (pl.len() > 0)).alias("keeps")
    return _EXPLAINED if links.select(keeps_to_it).collect().item() else ""
