"""The space of a search: dimensions over keys of a scenario, and the scenario at each of its places."""

from __future__ import annotations

import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from importlib.resources import files
from pathlib import Path
from typing import Any, TypeAlias

from tussle import units
from tussle.errors import TussleError, shown, unknown
from tussle.scenario.buffers import Link, amount
from tussle.scenario.text import parse_toml, read_toml
from tussle.units import UnitError

Settings: TypeAlias = dict[str, Any]
"""Values of a scenario by their dotted keys."""

_RANGE = ("from", "to", "plain", "scale", "as", "least", "times")
_SCALES = ("linear", "log", "square")
_DIGITS = 2
"""Significant digits of values: a scenario with 37 Mbit/s is easier to read than one with 36.8194."""
_NOTHING = 100
"""Divisor of the end of a range that begins at 0: smaller values are 0."""
_NUMBER_AND_UNIT = re.compile(r"\s*([0-9]+(?:\.[0-9]+)?)\s*(.*?)\s*")
_OF_A_FLOW = re.compile(r"flows\.(\d+)\..+")


@dataclass(frozen=True)
class Choice:
    """A dimension with listed values, of which the first is plain."""

    key: str
    values: tuple[Any, ...]

    @property
    def plain(self) -> Any:
        return self.values[0]

    def at(self, place: float) -> Any:
        """Return the value at a place from 0 to 1."""
        return self.values[min(int(place * len(self.values)), len(self.values) - 1)]

    def place(self, value: Any) -> float:
        """Return a place of a value, from 0 to 1."""
        return (self.values.index(value) + 0.5) / len(self.values)

    def ends(self) -> tuple[Any, ...]:
        """Return the values that are as far as possible from one another: all of them."""
        return self.values

    def simpler(self, value: Any) -> Any:
        """Return the value: no choice is between another one and the plain one."""
        return value

    def words(self) -> str:
        """Return the values as a reader sees them."""
        return ", ".join(map(str, self.values))


@dataclass(frozen=True)
class Range:
    """A dimension with all values between two ends: numbers in a unit, which is empty for plain numbers."""

    key: str
    low: float
    high: float
    plain: Any
    unit: str = ""
    scale: str = "linear"
    is_whole: bool = False

    def at(self, place: float) -> Any:
        """Return the value at a place from 0 to 1."""
        place = min(max(place, 0.0), 1.0)
        if self.is_whole:
            return int(min(self.low + math.floor(place * (self.high - self.low + 1)), self.high))
        if self.scale == "log":
            number = self.low * (self.high / self.low) ** place
        else:
            number = self.low + (self.high - self.low) * (place**2 if self.scale == "square" else place)
        if self.low == 0 and number < self.high / _NOTHING:
            number = 0.0
        return self.written(min(max(rounded(number, _DIGITS), self.low), self.high))

    def place(self, value: Any) -> float:
        """Return the place of a value, from 0 to 1."""
        number = self.number(value)
        if self.is_whole:
            return (number - self.low + 0.5) / (self.high - self.low + 1)
        if self.low == self.high:
            return 0.0
        if self.scale == "log":
            return math.log(number / self.low) / math.log(self.high / self.low)
        part = (number - self.low) / (self.high - self.low)
        return math.sqrt(part) if self.scale == "square" else part

    def ends(self) -> tuple[Any, ...]:
        """Return the least and the largest value."""
        return (self.at(0.0), self.at(1.0))

    def simpler(self, value: Any) -> Any:
        """Return the value with one significant digit, if that lies in the range."""
        if self.is_whole:
            return value
        number = rounded(self.number(value), 1)
        return self.written(number) if self.low <= number <= self.high else value

    def number(self, value: Any) -> float:
        """Return the number of a value; NaN if it has another unit."""
        matched = _NUMBER_AND_UNIT.fullmatch(str(value))
        return float(matched[1]) if matched and matched[2] == self.unit else math.nan

    def written(self, number: float) -> Any:
        """Return the value with a number, as in a scenario."""
        return f"{number:g} {self.unit}" if self.unit else number

    def words(self) -> str:
        """Return the range as a reader sees it."""
        return f"{self.low:g} to {self.high:g} {self.unit}".strip()


Dimension: TypeAlias = Choice | Range


@dataclass(frozen=True)
class Writing:
    """How a value of a dimension is written in a scenario."""

    form: str = ""
    """A text with `{}` in the place of the value, such as "uniform(0 ms, {})"."""
    least: str = ""
    """The least buffer: where the value is less on the path of the scenario, this one is written."""
    times: str = ""
    """The key of the rate of which the value is a multiple."""


@dataclass(frozen=True)
class Space:
    """Dimensions, and fixed values of a scenario's other keys."""

    dimensions: tuple[Dimension, ...]
    fixed: Settings
    writings: Mapping[str, Writing]
    source: str = "the default space"

    def at(self, places: Sequence[float]) -> Settings:
        """Return the value of each dimension at places from 0 to 1."""
        return {each.key: each.at(place) for each, place in zip(self.dimensions, places, strict=True)}

    def plain(self) -> Settings:
        """Return the plain value of each dimension."""
        return {each.key: each.plain for each in self.dimensions}

    def shown(self, key: str, values: Settings) -> str:
        """Return the value of a key at a place as a reader sees it: a distribution, a multiple of a rate."""
        writing = self.writings.get(key, Writing())
        if writing.times:
            return f"{float(values[key]):g} x {writing.times}"
        return str(self._written(key, self.fixed | values))

    def scenario_settings(self, values: Settings) -> Settings:
        """Return the keys of a scenario with these values of the dimensions, as the scenario has them."""
        raw = {**self.fixed, **values}
        return {key: self._written(key, raw) for key in values}

    def base_settings(self) -> Settings:
        """Return the keys of the plain scenario, as the scenario has them."""
        raw = {**self.fixed, **self.plain()}
        return {key: self._written(key, raw) for key in raw}

    def tables(self, values: Settings, *, tidy: bool = False) -> dict[str, Any]:
        """Return the tables of the scenario; a tidy one leaves out what does nothing."""
        flat = {**self.base_settings(), **self.scenario_settings({**self.fixed, **values})}
        found = nested(flat)
        return _tidied(found, self._idle(values)) if tidy else found

    def _written(self, key: str, raw: Settings) -> Any:
        value, writing = raw[key], self.writings.get(key, Writing())
        if writing.times:
            return _multiple(float(value), raw[writing.times])
        if writing.least and _is_less(value, writing.least, raw):
            return writing.least
        # A distribution from 0 to 0 is none.
        return (
            writing.form.replace("{}", str(value))
            if writing.form and not str(value).startswith("0 ")
            else value
        )

    def _idle(self, values: Settings) -> set[str]:
        """Return the keys whose values change nothing: multiples by 1, and amounts of 0 where 0 is plain."""
        multiples = {
            key
            for key, each in self.writings.items()
            if each.times and {**self.fixed, **values}.get(key) == 1
        }
        nothing = {
            each.key
            for each in self.dimensions
            if isinstance(each, Range) and each.unit and each.low == 0 and each.number(values[each.key]) == 0
        }
        return multiples | nothing


def rounded(number: float, digits: int) -> float:
    """Round to a number of significant digits.

    >>> rounded(36.8194, 2), rounded(0.0, 2)
    (37.0, 0.0)
    """
    return float(f"{number:.{digits - 1}e}")


def _is_less(buffer: Any, least: str, raw: Settings) -> bool:
    """Return whether a buffer is less than another one on the path of the scenario."""
    link = Link(raw["path.rate"], raw["path.rtt"])
    try:
        return amount(buffer, link).packets() < amount(least, link).packets()
    except UnitError:
        # The check of the scenario names the wrong key.
        return False


def _multiple(factor: float, of: Any) -> str:
    matched = _NUMBER_AND_UNIT.fullmatch(str(of))
    if matched is None:
        raise TussleError(f"{shown(of)} is no number with a unit, which a multiple needs")
    return f"{rounded(factor * float(matched[1]), 3):g} {matched[2]}"


def nested(flat: Mapping[str, Any]) -> dict[str, Any]:
    """Return tables, and lists of tables where the keys are 0, 1 and so on.

    >>> nested({"path.rate": "1 Mbit/s", "flows.0.count": 2})
    {'path': {'rate': '1 Mbit/s'}, 'flows': [{'count': 2}]}
    """
    found: dict[str, Any] = {}
    for key, value in flat.items():
        at = found
        *tables, last = key.split(".")
        for table in tables:
            at = at.setdefault(table, {})
        at[last] = value
    return _listed(found)


def _listed(value: Any) -> Any:
    if not isinstance(value, dict):
        return value
    made = {key: _listed(each) for key, each in value.items()}
    if made and all(key.isdecimal() for key in made):
        return [made[key] for key in sorted(made, key=int)]
    return made


def _tidied(tables: dict[str, Any], idle: set[str]) -> dict[str, Any]:
    """Leave out idle values, changes that change nothing, and elements without their delay."""
    for key in sorted(idle):
        *way, last = key.split(".")
        at: Any = tables
        for step in way:
            at = at[int(step)] if isinstance(at, list) else at[step]
        del at[last]
    path = tables.get("path", {})
    if isinstance(path.get("changes"), list):
        path["changes"] = [each for each in path["changes"] if set(each) != {"at"}]
    for direction in (path, path.get("reverse", {})):
        if isinstance(direction.get("elements"), list):
            direction["elements"] = [each for each in direction["elements"] if set(each) - {"kind", "place"}]
    return _without_empty(tables)


def _without_empty(value: Any) -> Any:
    if isinstance(value, dict):
        made = {key: _without_empty(each) for key, each in value.items()}
        return {key: each for key, each in made.items() if each not in ({}, [])}
    return [_without_empty(each) for each in value] if isinstance(value, list) else value


def load_space(within: Path | None, flow_tables: int) -> Space:
    """Return the default space with the keys of a file in place of its own.

    `flow_tables` is the number of tables of flows; keys of further tables in the default space are left out.
    Raises TussleError when the file cannot be read, a range is invalid, or nothing varies.
    """
    text = files("tussle.worst").joinpath("default.toml").read_text("utf-8")
    flat = {
        key: value
        for key, value in _flat(parse_toml(text, "default space"), "")
        if not (matched := _OF_A_FLOW.fullmatch(key)) or int(matched[1]) < flow_tables
    }
    source = "the default space"
    if within is not None:
        source = f"space {within.name}"
        flat = _replaced(flat, dict(_flat(read_toml(within, source), "")))
    dimensions, fixed, writings = [], {}, {}
    for key, value in flat.items():
        if value == {}:
            raise TussleError(f"{source}, {key}: an empty table; leave it out, or give keys in it")
        if isinstance(value, list):
            if not value:
                raise TussleError(f"{source}, {key}: an empty list; give at least one value")
            dimensions.append(Choice(key, tuple(value)))
        elif isinstance(value, dict):
            dimensions.append(_range(key, value, source))
            writings[key] = _writing(key, value, flat, source)
        else:
            fixed[key] = value
    varying = tuple(each for each in dimensions if len(set(map(str, each.ends()))) > 1)
    if not varying:
        raise TussleError(f"{source}: nothing varies; give at least one range or list of values")
    fixed |= {each.key: each.plain for each in dimensions if each not in varying}
    return Space(varying, fixed, writings, source)


def _writing(key: str, table: Mapping[str, Any], flat: Settings, source: str) -> Writing:
    """Return how values of a range are written; raises TussleError where that makes no sense."""
    form, least, times = (str(table.get(name, "")) for name in ("as", "least", "times"))
    where = f"{source}, {key}"
    if form and "{}" not in form:
        raise TussleError(
            f'{where}: as = {shown(form)} has no {{}} for the value; write it like "uniform(0 ms, {{}})"'
        )
    if times and times not in flat:
        raise TussleError(f"{where}: times = {shown(times)} is no key of the space; give one, like path.rate")
    if least:
        try:
            units.buffer(least)
        except UnitError as error:
            raise TussleError(f"{where}: least: {error}") from None
    return Writing(form, least, times)


def _replaced(flat: Settings, given: Settings) -> Settings:
    """Put given values in place of those of the same keys, and of those above and below them.

    An empty list removes all keys below its own.
    """
    kept = {
        key: value
        for key, value in flat.items()
        if not any(f"{key}.".startswith(f"{other}.") or other.startswith(f"{key}.") for other in given)
    }
    removing = {
        key
        for key, value in given.items()
        if value == [] and any(each.startswith(f"{key}.") for each in flat)
    }
    changed = {key: value for key, value in given.items() if key not in removing}
    # In the order of the default space, so that pages show the keys in it.
    order = {key: index for index, key in enumerate(flat)}
    both = kept | changed
    return dict(sorted(both.items(), key=lambda pair: order.get(pair[0], len(order))))


def _flat(value: Any, key: str) -> list[tuple[str, Any]]:
    """Return values by their dotted keys; a table with `from` or `to` is the range of its key.

    An empty table stays one, so that it is refused.
    """
    if isinstance(value, list) and value and all(isinstance(each, dict) for each in value):
        value = {str(index): each for index, each in enumerate(value)}
    if not isinstance(value, dict) or _is_range(key, value) or (key and not value):
        return [(key, value)]
    return [pair for name, each in value.items() for pair in _flat(each, f"{key}.{name}" if key else name)]


def _is_range(key: str, table: Mapping[str, Any]) -> bool:
    """Return whether a table is a range: the steady interval and elements have keys `from` and `to`, too."""
    return bool({"from", "to"} & table.keys()) and "kind" not in table and key != "steady"


def _range(key: str, table: Mapping[str, Any], source: str) -> Range:
    where = f"{source}, {key}"
    if wrong := sorted(table.keys() - set(_RANGE)):
        raise TussleError(f"{where}: {unknown('key of a range', wrong[0], _RANGE)}")
    for end in ("from", "to"):
        if end not in table:
            raise TussleError(f"{where}: the range has no {end}; give from and to")
    low, high = (_NUMBER_AND_UNIT.fullmatch(str(table[end])) for end in ("from", "to"))
    if low is None or high is None or low[2] != high[2]:
        ends = f"{shown(table['from'])} to {shown(table['to'])}"
        raise TussleError(f"{where}: {ends} is no range; write both numbers in one unit")
    scale = table.get("scale", "linear")
    if scale not in _SCALES:
        raise TussleError(f"{where}: {unknown('scale', str(scale), _SCALES)}")
    ends = float(low[1]), float(high[1])
    if ends[0] > ends[1] or (scale == "log" and ends[0] == 0):
        what = "from is more than to" if ends[0] > ends[1] else "a logarithmic range cannot begin at 0"
        raise TussleError(f"{where}: {what}; give another from")
    is_whole = isinstance(table["from"], int) and isinstance(table["to"], int) and not table.get("times")
    found = Range(key, *ends, None, low[2], scale, is_whole)
    plain = found.number(table.get("plain", table["from"]))
    if not ends[0] <= plain <= ends[1]:
        raise TussleError(
            f"{where}: plain is {shown(table['plain'])}; give a value of the range, in its unit"
        )
    return replace(found, plain=int(plain) if is_whole else found.written(plain))
