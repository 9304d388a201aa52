"""The cells of matrices: every pair of algorithms, with a quantity in numbers and as a colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from tussle.figures._palette import AMOUNTS, SHARES, ink_on, mixed_colour
from tussle.figures._quantity import medians, quantity
from tussle.metrics import REGISTRY, Tables, pairs, summarise

SHARE = "share"
"""The default quantity of matrices: both goodputs as numbers, the share as the colour."""
_UNKNOWN = "-"
"""Stands for the unknown number of a flow, beside the other flow's number."""
_SIGNED = ("order_effect",)
"""Quantities whose sign matters as much as their size, even if all values have the same sign."""


@dataclass(frozen=True)
class Shades:
    """The quantity that a matrix shows for its pairs, and its colours."""

    words: str
    unit: str
    """Unit of the numbers."""
    ramp: Sequence[str]
    low: float
    """Value of the first colour of the ramp."""
    high: float
    """Value of the last colour of the ramp."""
    cells: pl.DataFrame
    """`point, value, numbers, fill, ink`; no row if unknown, no `value` if the first flow's is unknown."""
    of_both: bool
    """Whether a cell holds a number for each flow; the first number decides its colour."""

    @property
    def diverges(self) -> bool:
        """Whether the ramp has a colour for each side of its middle."""
        return self.ramp is SHARES


def cell_table(tables: Tables) -> pl.DataFrame:
    """Return one row a pair: `pairs`, then `share, first_mbit_per_s, second_mbit_per_s` and the verdict.

    The numbers are medians over the repetitions.
    """
    goodputs = summarise(REGISTRY["goodput"], tables).with_columns(pl.col("goodput_bit_per_s") / 1e6)
    first = goodputs.filter(pl.col("flow") == 0).select("point", first_mbit_per_s="goodput_bit_per_s")
    second = goodputs.filter(pl.col("flow") == 1).select("point", second_mbit_per_s="goodput_bit_per_s")
    shares = summarise(REGISTRY["share"], tables).filter(pl.col("flow") == 0).select("point", "share")
    verdicts = REGISTRY["coexistence"].compute(tables)
    table = pairs(tables)
    for more in (
        shares,
        first,
        second,
        verdicts.drop("first", "second", "slice"),
    ):
        table = table.join(more, on="point", how="left")
    return table.sort("point")


def shades(tables: Tables, cells: pl.DataFrame, metric: str) -> Shades:
    """Return the numbers and colours of a quantity for each pair of `cells`, which is a `cell_table`.

    Raises TussleError for an unknown quantity, and when the tables do not have it.
    """
    if metric == SHARE:
        return _shares(cells)
    chosen = quantity(metric, tables)
    found = medians(chosen, tables).join(cells.select("point"), on="point", how="semi")
    if chosen.is_of_flows:
        found = _both_flows(found)
    else:
        found = found.with_columns(numbers=pl.col("value").map_elements(in_cell, pl.String))
    values = found["value"].drop_nulls()
    is_signed = chosen.column in _SIGNED or (values < 0).any()
    ramp, (low, high) = (SHARES, _around_zero(values)) if is_signed else (AMOUNTS, _ends(values))
    return _filled(
        Shades(chosen.words, chosen.unit, ramp, low, high, found.sort("point"), of_both=chosen.is_of_flows)
    )


def _both_flows(values: pl.DataFrame) -> pl.DataFrame:
    """Return `point, value, numbers`: the numbers of both flows, and the value of the first."""
    first, second = (
        values.filter(pl.col("flow") == flow).select("point", pl.col("value").alias(name))
        for flow, name in enumerate(("value", "other"))
    )
    both = first.join(second, on="point", how="full", coalesce=True)
    words = pl.struct("value", "other").map_elements(
        lambda pair: " / ".join(_UNKNOWN if each is None else in_cell(each) for each in pair.values()),
        pl.String,
    )
    return both.select("point", "value", words.alias("numbers"))


def _shares(cells: pl.DataFrame) -> Shades:
    numbers = pl.struct("first_mbit_per_s", "second_mbit_per_s").map_elements(_both, pl.String)
    found = cells.drop_nulls("share").select(
        "point", pl.col("share").alias("value"), numbers.alias("numbers")
    )
    return _filled(Shades("goodput and share of the first", "Mbit/s", SHARES, 0, 1, found, of_both=True))


def _filled(look: Shades) -> Shades:
    parts = ((look.cells["value"] - look.low) / (look.high - look.low)).to_list()
    fills = [None if part is None else mixed_colour(look.ramp, part) for part in parts]
    inks = [None if fill is None else ink_on(fill) for fill in fills]
    colours = pl.DataFrame({"fill": fills, "ink": inks}, schema_overrides=_TEXT)
    shown = pl.concat([look.cells.select("point", "value", "numbers"), colours], how="horizontal")
    return replace(look, cells=shown)


_TEXT = {"fill": pl.String, "ink": pl.String}


def _ends(values: pl.Series) -> tuple[float, float]:
    """Return the range of the values, from 0 if it begins close to 0."""
    if values.is_empty():
        return 0.0, 1.0
    low, high = float(values.min()), float(values.max())  # pyright: ignore[reportArgumentType]
    if low == high:
        return (min(low, 0.0), max(high, 0.0)) if low else (0.0, 1.0)
    return (0.0 if 0 <= low < high / 2 else low), high


def _around_zero(values: pl.Series) -> tuple[float, float]:
    """Put 0 into the middle of the ramp, and the farthest value at one of its ends."""
    farthest = float(values.abs().max() or 1)  # pyright: ignore[reportArgumentType]
    return -farthest, farthest


def in_cell(amount: float) -> str:
    """Write a number with two or three digits, as the cells do."""
    for least, digits in ((9.95, 0), (0.995, 1)):
        if abs(amount) >= least:
            return f"{amount:.{digits}f}"
    return f"{amount:.2g}"


def _both(pair: dict[str, float]) -> str:
    return f"{in_cell(pair['first_mbit_per_s'])} / {in_cell(pair['second_mbit_per_s'])}"
