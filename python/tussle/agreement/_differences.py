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
"""How many runs of each engine an interval needs."""
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
    reference or an amount), its 95 % interval `low` to `high` by Welch's t-test (Biometrika 34, 1947), null
    with one run, and `runs`, the smaller number of runs.
    """
    rows = [
        (arrangement, point, quantity.name, *_compared(quantity, mine[quantity.name], its[quantity.name]))
        for arrangement, (judged, reference) in sorted(pairs.items())
        for point, mine, its in _by_point(quantities(judged), quantities(reference))
        for quantity in QUANTITIES
        if _is_told(mine[quantity.name]) and _is_told(its[quantity.name])
    ]
    names = ("judged", "reference", "reference_spread", "difference", "low", "high")
    schema = {"arrangement": pl.String, "point": pl.UInt32, "quantity": pl.String}
    schema |= dict.fromkeys(names, pl.Float64) | {"runs": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _by_point(judged: pl.DataFrame, reference: pl.DataFrame) -> list[tuple[int, pl.DataFrame, pl.DataFrame]]:
    mine = judged.partition_by("point", as_dict=True)
    its = reference.partition_by("point", as_dict=True)
    return [(point, mine[point,], its[point,]) for (point,) in its if (point,) in mine]


def _is_told(values: pl.Series) -> bool:
    return values.drop_nulls().len() > 0


def _compared(quantity: Quantity, mine: pl.Series, its: pl.Series) -> tuple[float | int | None, ...]:
    judged, reference = mine.drop_nulls().to_numpy(), its.drop_nulls().to_numpy()
    of = max(abs(float(reference.mean())), quantity.least) if quantity.difference == "relative" else 1.0
    difference = float(judged.mean() - reference.mean())
    low, high = _interval(judged, reference)
    spread = float(reference.std(ddof=1)) if reference.size > 1 else None
    return (
        float(judged.mean()),
        float(reference.mean()),
        spread,
        *(None if each is None else _part(each, of) for each in (difference, low, high)),
        min(judged.size, reference.size),
    )


def _part(difference: float, of: float) -> float:
    if of:
        return difference / of
    return 0.0 if difference == 0 else float("inf")


def _interval(judged: np.ndarray, reference: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of the difference of the means, for variances that need not be equal."""
    if min(judged.size, reference.size) < _LEAST:
        return None, None
    from scipy.stats import t

    difference = float(judged.mean() - reference.mean())
    parts = [float(values.var(ddof=1)) / values.size for values in (judged, reference)]
    if not any(parts):
        return difference, difference
    freedom = sum(parts) ** 2 / sum(
        part**2 / (values.size - 1) for part, values in zip(parts, (judged, reference), strict=True)
    )
    reach = float(t.ppf((1 + CONFIDENCE) / 2, freedom)) * sum(parts) ** 0.5
    return difference - reach, difference + reach
