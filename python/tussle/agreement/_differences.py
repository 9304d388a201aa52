"""What differs between two engines, cell by cell and quantity by quantity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from tussle.agreement._quantities import QUANTITIES, Quantity, quantities
from tussle.agreement._windows import distances
from tussle.metrics import Tables, axis_columns

CONFIDENCE = 0.95
_LEAST = 2
"""How many pairs of runs an interval needs."""
_OF_REFERENCE = ":reference"
_OF_CELL = ("path.rate", "path.rtt", "path.queue.limit", "path.loss")


def cells(pairs: Mapping[str, tuple[Tables, Tables]]) -> pl.DataFrame:
    """Give one row a cell: what it is, and how far its windows are apart.

    Columns: `arrangement, point, algorithm, rate, rtt, buffer, loss, window_distance, own_distance`. `pairs`
    are the tables of the engine that is judged and of the one that it is held against, by the name of the
    arrangement.
    """
    frames = []
    for arrangement, (judged, reference) in sorted(pairs.items()):
        axes = [axis for axis in axis_columns(reference) if axis.endswith(".algorithm")]
        chosen = reference.runs.select("point", pl.col(max(axes)).alias("algorithm"), *_OF_CELL).collect()
        named = chosen.rename({"path.queue.limit": "path.buffer"}).unique("point", maintain_order=True)
        named.columns = [column.removeprefix("path.") for column in named.columns]
        distant = named.join(distances(judged, reference), on="point", how="left")
        frames.append(distant.select(pl.lit(arrangement).alias("arrangement"), pl.all()))
    return pl.concat(frames)


def differences(pairs: Mapping[str, tuple[Tables, Tables]]) -> pl.DataFrame:
    """Give one row a cell and quantity that both engines have.

    `arrangement, point, quantity`, the means `judged` and `reference`, the standard deviation
    `reference_spread` of the reference's runs, `difference` of the means as the quantity says (a part of the
    reference or an amount), its 95 % interval `low` to `high` by Student's t-test of the differences between
    runs of one seed (Biometrika 6, 1908), null with one such pair, and `runs`, the number of pairs. What only
    one engine has in a run, such as a first loss, is left out.
    """
    rows = [
        (arrangement, point, quantity.name, *_compared(quantity, told))
        for arrangement, (judged, reference) in sorted(pairs.items())
        for (point,), both in _both(quantities(judged), quantities(reference))
        for quantity in QUANTITIES
        if (told := _told(both, quantity)).height
    ]
    names = ("judged", "reference", "reference_spread", "difference", "low", "high")
    schema = {"arrangement": pl.String, "point": pl.UInt32, "quantity": pl.String}
    schema |= dict.fromkeys(names, pl.Float64) | {"runs": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _both(judged: pl.DataFrame, reference: pl.DataFrame) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Runs of one point and one seed beside each other, point by point."""
    both = judged.join(reference, on=["point", "repetition"], suffix=_OF_REFERENCE, maintain_order="left")
    return list(both.partition_by("point", as_dict=True).items())


def _told(both: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
    return both.select(judged=quantity.name, reference=quantity.name + _OF_REFERENCE).drop_nulls()


def _compared(quantity: Quantity, told: pl.DataFrame) -> tuple[float | int | None, ...]:
    judged, reference = (told[side].to_numpy() for side in ("judged", "reference"))
    of = max(abs(float(reference.mean())), quantity.least) if quantity.difference == "relative" else 1.0
    difference = float(judged.mean() - reference.mean())
    low, high = _interval(judged - reference)
    spread = float(reference.std(ddof=1)) if reference.size > 1 else None
    return (
        float(judged.mean()),
        float(reference.mean()),
        spread,
        *(None if each is None else _part(each, of) for each in (difference, low, high)),
        told.height,
    )


def _part(difference: float, of: float) -> float:
    if of:
        return difference / of
    return 0.0 if difference == 0 else float("inf")


def _interval(differences: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of their mean."""
    if differences.size < _LEAST:
        return None, None
    from scipy.stats import t

    mean = float(differences.mean())
    reach = float(t.ppf((1 + CONFIDENCE) / 2, differences.size - 1)) * float(differences.std(ddof=1))
    return mean - reach / differences.size**0.5, mean + reach / differences.size**0.5
