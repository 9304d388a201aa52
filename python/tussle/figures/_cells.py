"""The cells of matrices: every pair of algorithms, with a quantity in numbers and as a colour."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, replace

import polars as pl

from tussle.figures._palette import AMOUNTS, SHARES, ink_on, mixed_colour
from tussle.figures._quantity import medians, quantity
from tussle.metrics import REGISTRY, Tables, pair_runs, pairs, sides

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

    The numbers are medians over the repetitions: mean goodputs per flow of each side, and x1 / (x1 + x2) of
    these.
    """
    first, second = pl.col("first_bit_per_s"), pl.col("second_bit_per_s")
    goodputs = (
        pair_runs(tables)
        .join(tables.runs.select("run", "point").collect(), on="run")
        .group_by("point")
        .agg(
            pl.when(first + second > 0).then(first / (first + second)).median().alias("share"),
            (first.median() / 1e6).alias("first_mbit_per_s"),
            (second.median() / 1e6).alias("second_mbit_per_s"),
        )
    )
    verdicts = REGISTRY["coexistence"].compute(tables)
    known = pairs(tables)
    verdicts = verdicts.select("point", *(name for name in verdicts.columns if name not in known.columns))
    return known.join(goodputs, on="point", how="left").join(verdicts, on="point", how="left").sort("point")


def sides_in_words(cells: pl.DataFrame) -> tuple[str, str]:
    """Name the sides of pairs: "first flow" and "second flow", or "4 first flows" and "second flow"."""
    return _side_in_words("first", cells["first_flows"]), _side_in_words("second", cells["second_flows"])


def first_in_words(cells: pl.DataFrame) -> str:
    """Name what the first number of a cell is of: "first flow", or the mean of the first side's flows."""
    return "first side (mean of a flow)" if are_means(cells) else "first flow"


def are_means(cells: pl.DataFrame) -> bool:
    """Return whether any pair has several flows on a side, so that its numbers are means over these."""
    return bool((cells.select(pl.max_horizontal("first_flows", "second_flows")) > 1).to_series().any())


def _side_in_words(side: str, flows: pl.Series) -> str:
    numbers = flows.unique().to_list()
    if numbers == [1]:
        return f"{side} flow"
    return f"{numbers[0]} {side} flows" if len(numbers) == 1 else f"{side} flows"


def shades(tables: Tables, cells: pl.DataFrame, metric: str) -> Shades:
    """Return the numbers and colours of a quantity for each pair of `cells`, which is a `cell_table`.

    Raises TussleError for an unknown quantity, and when the tables do not have it.
    """
    if metric == SHARE:
        return _shares(cells)
    chosen = quantity(metric, tables)
    found = medians(chosen, tables).join(cells.select("point"), on="point", how="semi")
    if chosen.is_of_flows:
        found = _both_sides(found, tables)
    else:
        found = found.with_columns(numbers=pl.col("value").map_elements(in_cell, pl.String))
    values = found["value"].drop_nulls()
    is_signed = chosen.column in _SIGNED or (values < 0).any()
    ramp, (low, high) = (SHARES, _around_zero(values)) if is_signed else (AMOUNTS, _ends(values))
    return _filled(
        Shades(chosen.words, chosen.unit, ramp, low, high, found.sort("point"), of_both=chosen.is_of_flows)
    )


def _both_sides(values: pl.DataFrame, tables: Tables) -> pl.DataFrame:
    """Return `point, value, numbers`: the numbers of both flows, or means of both sides."""
    runs = tables.runs.select("run", "point").collect()
    of_flows = sides(tables).join(runs, on="run").select("point", "flow", "side").unique()
    means = values.join(of_flows, on=["point", "flow"]).sort("point", "flow").group_by("point", "side")
    of_sides = means.agg(pl.col("value").mean())
    first, second = (
        of_sides.filter(pl.col("side") == side).select("point", pl.col("value").alias(name))
        for side, name in enumerate(("value", "other"))
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
