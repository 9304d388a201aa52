"""Checks of the arguments of functions of a dataset."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from types import NoneType

from tussle.dataset import Dataset
from tussle.drawing_size import LEAST_PX, MOST_PX
from tussle.errors import TussleError, argument, expect, shown, unknown

_ENDS = 2
_PERIODS = ("point", "run")


def expect_dataset(value: object, name: str = "dataset") -> None:
    """Raise TussleError for a value that is not a dataset."""
    expect(name, value, Dataset, "a dataset; tussle.open, tussle.run and tussle.matrix return one")


def expect_period(value: object) -> None:
    """Raise TussleError for another value of `per` than "point" and "run"."""
    expect("per", value, str, '"point" or "run"')
    if value not in _PERIODS:
        raise TussleError(f"{argument('per')}: {unknown('value', str(value), _PERIODS)}")


def expect_point(value: object) -> None:
    """Raise TussleError for a value that is no number of a point; None stands for all points."""
    if value is not None and not (_is_whole(value) and _number(value) >= 0):
        raise TussleError(f"{argument('point')}: {shown(value)} is not the number of a point, from 0")


def expect_size(name: str, value: object) -> None:
    """Raise TussleError for a value that is no width or height; None stands for that of the figure."""
    if value is not None and not (_is_whole(value) and LEAST_PX <= _number(value) <= MOST_PX):
        raise TussleError(
            f"{argument(name)}: {shown(value)} is not a whole number of pixels from {LEAST_PX} to {MOST_PX}"
        )


def expect_interval(value: object) -> None:
    """Raise TussleError for a value that is no interval of time; None stands for the whole run."""
    words = "a start and a later end in seconds, like (10, 20)"
    expect("between_s", value, (Sequence, NoneType), words)
    if value is None:
        return
    ends = [_number(each) for each in value] if isinstance(value, Sequence) else []
    # An end that is no number makes the comparisons false.
    if len(ends) != _ENDS or not 0 <= ends[0] < ends[1]:
        raise TussleError(f"{argument('between_s')}: {shown(value)} is not {words}")


def expect_names(name: str, value: object, words: str) -> None:
    """Raise TussleError for a value that is not a list of texts: one text is a list of characters."""
    if isinstance(value, str) or not isinstance(value, Sequence):
        raise TussleError(f"{argument(name)}: {shown(value)} is not {words}")
    for each in value:
        expect(name, each, str, "a name")


def expect_thresholds(value: object) -> None:
    """Raise TussleError for a value that has no amounts by names; None stands for no thresholds."""
    expect("thresholds", value, (Mapping, NoneType), 'amounts by their metrics, like {"jain": 0.01}')


def _is_whole(value: object) -> bool:
    return isinstance(value, int) and not isinstance(value, bool)


def _number(value: object) -> float:
    return value if isinstance(value, int | float) and not isinstance(value, bool) else float("nan")
