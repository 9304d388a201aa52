"""Differences between two engines, for each cell and quantity."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import polars as pl

from tussle.agreement._quantities import QUANTITIES, Quantity, quantities
from tussle.agreement._windows import distances
from tussle.metrics import Tables, axis_columns

CONFIDENCE = 0.95
_LEAST = 2
"""Number of pairs of runs that an interval needs."""
_OF_REFERENCE = ":reference"
_OF_CELL = ("path.rate", "path.rtt", "path.queue.limit", "path.loss")


def cells(pairs: Mapping[str, tuple[Tables, Tables]]) -> pl.DataFrame:
    """Return one row a cell: its settings, the distance of its windows, and whether its runs are the same.

    Columns: `arrangement, point, algorithm, rate, rtt, buffer, loss, window_distance, own_distance, is_same`.
    `pairs` are the tables of the tested engine and of the reference, by the name of the arrangement.
    """
    frames = []
    for arrangement, (tested, reference) in sorted(pairs.items()):
        axes = [axis for axis in axis_columns(reference) if axis.endswith(".algorithm")]
        chosen = reference.runs.select("point", pl.col(max(axes)).alias("algorithm"), *_OF_CELL).collect()
        named = chosen.rename({"path.queue.limit": "path.buffer"}).unique("point", maintain_order=True)
        named.columns = [column.removeprefix("path.") for column in named.columns]
        distant = named.join(distances(tested, reference), on="point", how="left")
        known = distant.join(_same_runs(tested, reference), on="point", how="left")
        frames.append(known.select(pl.lit(arrangement).alias("arrangement"), pl.all()))
    return pl.concat(frames)


def _same_runs(tested: Tables, reference: Tables) -> pl.DataFrame:
    """Return `point` and `is_same`: whether each flow of each run delivers and retransmits the same."""
    of_flow = ["point", "repetition", "flow"]
    counts = ["delivered_bytes", "retransmitted_packets"]
    sides = [
        tables.flows.join(tables.runs, on="run").select(of_flow + counts).collect()
        for tables in (tested, reference)
    ]
    both = sides[0].join(sides[1], on=of_flow, suffix=_OF_REFERENCE)
    same = pl.all_horizontal(*(pl.col(name) == pl.col(name + _OF_REFERENCE) for name in counts))
    return both.group_by("point").agg(is_same=same.all())


def differences(pairs: Mapping[str, tuple[Tables, Tables]]) -> pl.DataFrame:
    """Return one row for each cell and quantity that both engines have.

    `arrangement, point, quantity`, the means `tested` and `reference`, the standard deviation
    `reference_spread` of the reference's runs, `difference` of the means as the quantity says (a part of the
    reference or an amount), its 95 % interval `low` to `high` by Student's t-test of the differences between
    runs of one seed (Biometrika 6, 1908), null with one such pair, and `runs`, the number of pairs. Values
    that only one engine has in a run, such as a first loss, are left out.
    """
    rows = [
        (arrangement, point, quantity.name, *_compared(quantity, known))
        for arrangement, (tested, reference) in sorted(pairs.items())
        for (point,), both in _both(quantities(tested), quantities(reference))
        for quantity in QUANTITIES
        if (known := _known(both, quantity)).height
    ]
    names = ("tested", "reference", "reference_spread", "difference", "low", "high")
    schema = {"arrangement": pl.String, "point": pl.UInt32, "quantity": pl.String}
    schema |= dict.fromkeys(names, pl.Float64) | {"runs": pl.UInt32}
    return pl.DataFrame(rows, schema=schema, orient="row")


def _both(tested: pl.DataFrame, reference: pl.DataFrame) -> list[tuple[tuple[object, ...], pl.DataFrame]]:
    """Join the runs of one point and one seed, and split them by point."""
    both = tested.join(reference, on=["point", "repetition"], suffix=_OF_REFERENCE, maintain_order="left")
    return list(both.partition_by("point", as_dict=True).items())


def _known(both: pl.DataFrame, quantity: Quantity) -> pl.DataFrame:
    return both.select(tested=quantity.name, reference=quantity.name + _OF_REFERENCE).drop_nulls()


def _compared(quantity: Quantity, known: pl.DataFrame) -> tuple[float | int | None, ...]:
    tested, reference = (known[side].to_numpy() for side in ("tested", "reference"))
    of = max(abs(float(reference.mean())), quantity.least) if quantity.difference == "relative" else 1.0
    difference = float(tested.mean() - reference.mean())
    low, high = _interval(tested - reference)
    spread = float(reference.std(ddof=1)) if reference.size > 1 else None
    return (
        float(tested.mean()),
        float(reference.mean()),
        spread,
        *(None if each is None else _part(each, of) for each in (difference, low, high)),
        known.height,
    )


def _part(difference: float, of: float) -> float:
    if of:
        return difference / of
    return 0.0 if difference == 0 else float("inf")


def _interval(differences: np.ndarray) -> tuple[float, float] | tuple[None, None]:
    """Return the interval of the mean."""
    if differences.size < _LEAST:
        return None, None
    from scipy.stats import t

    mean = float(differences.mean())
    reach = float(t.ppf((1 + CONFIDENCE) / 2, differences.size - 1)) * float(differences.std(ddof=1))
    return mean - reach / differences.size**0.5, mean + reach / differences.size**0.5
