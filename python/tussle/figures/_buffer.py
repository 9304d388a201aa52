"""Buffers of the points in bandwidth-delay products."""

from __future__ import annotations

import polars as pl

from tussle import units
from tussle.metrics import Tables, axis_columns

PACKET_BITS = 1500 * 8
_KEY = "path.queue.limit"


def buffers(tables: Tables) -> pl.DataFrame:
    """Return `point, buffer_bdp`: the multiple in the scenario, else computed from the packets.

    A queue holds whole packets, so that half of a product of 16.7 packets becomes 8, or 0.48 products.
    """
    bdp_packets = pl.col("link_rate_bit_per_s") * pl.col("base_rtt_ms") / 1e3 / PACKET_BITS
    asked = pl.col(_KEY) if _KEY in axis_columns(tables) else pl.lit(None, pl.String)
    asked_bdp = asked.map_elements(_products, pl.Float64)
    held_packets = pl.col("buffer_packets")
    is_rounded = (asked_bdp * bdp_packets - held_packets).abs() < 1
    held_bdp = (held_packets / bdp_packets).round_sig_figs(3)
    buffer_bdp = pl.when(is_rounded).then(asked_bdp).otherwise(held_bdp)
    return tables.runs.select("point", buffer_bdp.alias("buffer_bdp")).unique().collect()


def _products(written: str) -> float | None:
    try:
        asked = units.buffer(written)
    except units.UnitError:
        return None
    return float(asked.amount) if asked.unit == "bdp" else None
