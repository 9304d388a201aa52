"""Random times and sizes as people write them: `"5 ms"`, `"normal(20 ms, 5 ms)"`, `"pareto(10 kB, 1.2)"`."""

import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from tussle import units
from tussle.errors import shown, unknown

EXAMPLE = "normal(20 ms, 5 ms)"
_CALL = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.DOTALL)

RunDistribution = dict[str, Any]
"""A distribution in the format of a run: `Distribution` in crates/tussle-core/src/util/distribution.rs."""
Shape = Literal["constant", "uniform", "normal", "exponential", "pareto", "quantiles", "wifi"]


@dataclass(frozen=True)
class Distribution:
    """A distribution of times in ns, or of sizes in bytes."""

    kind: Shape
    amounts: tuple[int, ...]
    """constant, exponential, wifi: the mean; uniform: the ends; normal: mean, deviation; pareto: the least;
    quantiles: the quantiles, evenly spaced."""
    shape: str = ""
    """pareto: the exponent."""

    def least(self) -> int:
        """Return the least possible value."""
        return 0 if self.kind in ("normal", "exponential", "wifi") else self.amounts[0]

    def most(self) -> int | float:
        """Return the largest possible value, which may be infinite."""
        if self.kind in ("normal", "exponential", "pareto", "wifi"):
            return float("inf") if self.amounts[0] else 0
        return self.amounts[-1]


@dataclass(frozen=True)
class _Quantity:
    """The quantity of a distribution, time or size, and how it is written."""

    parse: Callable[[object], int]
    one: str
    other: str


_WIFI_NS = (1_000_000, 91_000_000)
"""The mean delays that the model of Wi-Fi can have, in ns."""
_TIMES = _Quantity(units.time, "1 ms", "5 ms")
_SIZES = _Quantity(units.size, "10 kB", "1 MB")


def run_distribution(text: object) -> RunDistribution:
    """Return the distribution of a time in the format of a run.

    >>> run_distribution("5 ms")
    {'constant_ns': 5000000}
    >>> run_distribution("uniform(1 ms, 5 ms)")
    {'uniform': {'least_ns': 1000000, 'most_ns': 5000000}}
    """
    return _of_run(time_distribution(text))


def time_distribution(text: object) -> Distribution:
    """Return the distribution of a time, in ns."""
    return _distribution(text, _TIMES)


def size_distribution(text: object) -> Distribution:
    """Return the distribution of a size, in bytes.

    >>> size_distribution("pareto(10 kB, 1.2)")
    Distribution(kind='pareto', amounts=(10000,), shape='1.2')
    """
    return _distribution(text, _SIZES)


def _of_run(distribution: Distribution) -> RunDistribution:
    match distribution.kind, distribution.amounts:
        case "uniform", (least, most):
            return {"uniform": {"least_ns": least, "most_ns": most}}
        case "normal", (mean, deviation):
            return {"normal": {"mean_ns": mean, "deviation_ns": deviation}}
        case "pareto", (least,):
            return {"pareto": {"least_ns": least, "shape": float(distribution.shape)}}
        case "quantiles", quantiles:
            return {"quantiles_ns": list(quantiles)}
        case kind, amounts:
            return {f"{kind}_ns": amounts[0]}


def _distribution(text: object, quantity: _Quantity) -> Distribution:
    matched = _CALL.fullmatch(text) if isinstance(text, str) else None
    if matched is None:
        return Distribution("constant", (quantity.parse(text),))
    name, arguments = matched[1], [each.strip() for each in matched[2].split(",")]
    if name not in _SHAPES:
        raise units.UnitError(unknown("distribution", name, _SHAPES))
    return _SHAPES[name](arguments, quantity)


def _uniform(arguments: Sequence[str], of: _Quantity) -> Distribution:
    least, most = _two(arguments, f"uniform({of.one}, {of.other})")
    if of.parse(most) < of.parse(least):
        smaller = "shorter time" if of is _TIMES else "smaller size"
        raise units.UnitError(f"{most} is less than {least}; write the {smaller} first")
    return Distribution("uniform", (of.parse(least), of.parse(most)))


def _normal(arguments: Sequence[str], of: _Quantity) -> Distribution:
    mean, deviation = _two(arguments, EXAMPLE if of is _TIMES else f"normal({of.other}, {of.one})")
    return Distribution("normal", (of.parse(mean), of.parse(deviation)))


def _exponential(arguments: Sequence[str], of: _Quantity) -> Distribution:
    if len(arguments) != 1:
        mean = "10 ms" if of is _TIMES else of.one
        raise units.UnitError(f'write the mean, like "exponential({mean})"')
    return Distribution("exponential", (of.parse(arguments[0]),))


def _pareto(arguments: Sequence[str], of: _Quantity) -> Distribution:
    least, shape = _two(arguments, "pareto(5 ms, 2.5)" if of is _TIMES else "pareto(10 kB, 1.2)")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", shape) or not float(shape):
        raise units.UnitError(f"{shown(shape)} is not a shape; write a number above 0, like 2.5")
    return Distribution("pareto", (of.parse(least),), shape)


def _quantiles(arguments: Sequence[str], of: _Quantity) -> Distribution:
    quantiles = [of.parse(each) for each in arguments]
    if len(quantiles) < 2 or quantiles != sorted(quantiles):  # noqa: PLR2004 (the least and the most)
        what = "times" if of is _TIMES else "sizes"
        raise units.UnitError(f"write at least two {what}, ascending: the least, …, the most")
    return Distribution("quantiles", tuple(quantiles))


def _wifi(arguments: Sequence[str], of: _Quantity) -> Distribution:
    if of is not _TIMES:
        raise units.UnitError("wifi is a distribution of delays; write a distribution of sizes")
    if len(arguments) != 1 or not _WIFI_NS[0] <= of.parse(arguments[0]) <= _WIFI_NS[1]:
        raise units.UnitError('write a mean delay of 1 to 91 ms, like "wifi(7 ms)"')
    return Distribution("wifi", (of.parse(arguments[0]),))


def _two(arguments: Sequence[str], example: str) -> tuple[str, str]:
    match list(arguments):
        case [first, second]:
            return first, second
        case _:
            raise units.UnitError(f'write two values, like "{example}"')


_SHAPES: dict[str, Callable[[Sequence[str], _Quantity], Distribution]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "pareto": _pareto,
    "quantiles": _quantiles,
    "wifi": _wifi,
}
