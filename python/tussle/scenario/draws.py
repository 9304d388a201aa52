"""Random times as people write them: `"5 ms"`, `"normal(20 ms, 5 ms)"`, `"pareto(5 ms, 2.5)"`."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from tussle import units
from tussle.errors import shown, unknown

EXAMPLE = "normal(20 ms, 5 ms)"
_CALL = re.compile(r"\s*([a-z]+)\s*\((.*)\)\s*", re.DOTALL)

Draws = dict[str, Any]
"""As a run has them: `Draws` in crates/tussle-core/src/path/draws.rs."""


def draws(text: object) -> Draws:
    """Return how a time is drawn.

    >>> draws("5 ms")
    {'constant_ns': 5000000}
    >>> draws("uniform(1 ms, 5 ms)")
    {'uniform': {'least_ns': 1000000, 'most_ns': 5000000}}
    """
    matched = _CALL.fullmatch(text) if isinstance(text, str) else None
    if matched is None:
        return {"constant_ns": units.time(text)}
    name, arguments = matched[1], [each.strip() for each in matched[2].split(",")]
    if name not in _SHAPES:
        raise units.UnitError(unknown("distribution", name, _SHAPES))
    return _SHAPES[name](arguments)


def _uniform(arguments: Sequence[str]) -> Draws:
    least, most = _two(arguments, "uniform(1 ms, 5 ms)")
    if units.time(most) < units.time(least):
        raise units.UnitError(f"{most} is less than {least}; write the shorter time first")
    return {"uniform": {"least_ns": units.time(least), "most_ns": units.time(most)}}


def _normal(arguments: Sequence[str]) -> Draws:
    mean, deviation = _two(arguments, EXAMPLE)
    return {"normal": {"mean_ns": units.time(mean), "deviation_ns": units.time(deviation)}}


def _exponential(arguments: Sequence[str]) -> Draws:
    if len(arguments) != 1:
        raise units.UnitError('write the mean, like "exponential(10 ms)"')
    return {"exponential_ns": units.time(arguments[0])}


def _pareto(arguments: Sequence[str]) -> Draws:
    least, shape = _two(arguments, "pareto(5 ms, 2.5)")
    if not re.fullmatch(r"[0-9]{1,3}(\.[0-9]{1,9})?", shape) or not float(shape):
        raise units.UnitError(f"{shown(shape)} is no shape; write a number above 0, like 2.5")
    return {"pareto": {"least_ns": units.time(least), "shape": float(shape)}}


def _quantiles(arguments: Sequence[str]) -> Draws:
    quantiles = [units.time(each) for each in arguments]
    if len(quantiles) < 2 or quantiles != sorted(quantiles):  # noqa: PLR2004 (the least and the most)
        raise units.UnitError("write at least two times, ascending: the least, …, the most")
    return {"quantiles_ns": quantiles}


def _two(arguments: Sequence[str], example: str) -> tuple[str, str]:
    match list(arguments):
        case [first, second]:
            return first, second
        case _:
            raise units.UnitError(f'write two values, like "{example}"')


_SHAPES: dict[str, Callable[[Sequence[str]], Draws]] = {
    "uniform": _uniform,
    "normal": _normal,
    "exponential": _exponential,
    "pareto": _pareto,
    "quantiles": _quantiles,
}
