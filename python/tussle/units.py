"""Quantities as people write them (`"100 Mbit/s"`, `"40 ms"`), turned into exact whole SI numbers.

This is a small parser instead of a library of units: scenarios have five dimensions, need exact numbers (no
floats), and the error message for a wrong unit names the right one.
"""

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from fractions import Fraction
from functools import lru_cache, wraps
from typing import Literal, TypeVar

from tussle.errors import nearest, shown

T = TypeVar("T")

_NUMBER_AND_UNIT = re.compile(r"\s*([+-]?)([0-9]{1,30}(?:\.[0-9]{1,30})?(?:[eE][+-]?[0-9]{1,2})?)\s*(\S*)\s*")


class UnitError(ValueError):
    """A quantity that cannot be parsed; the message says what to write instead."""


@dataclass(frozen=True)
class Dimension:
    """A dimension, such as time, and its units."""

    name: str
    """The name with its article, for error messages: "a rate"."""
    example: str
    base: str
    """The unit of the parsed whole numbers."""
    units: Mapping[str, Fraction]
    """The size of each unit in base units, by its spelling."""
    advertised: str
    """The units that an error message offers."""
    most: str
    """The largest accepted quantity; sums of such quantities stay far from overflow."""
    hints: Mapping[str, str]
    """Ambiguous spellings, which are refused, and what to write instead."""


def _powers(prefixes: str, step: int) -> dict[str, Fraction]:
    return {prefix.strip(): Fraction(step) ** power for power, prefix in enumerate(prefixes.split(","))}


def _rate_units() -> dict[str, Fraction]:
    units: dict[str, Fraction] = {}
    for prefix, factor in _powers(" ,k,M,G,T", 1000).items():
        # ns-3 writes Mbps, tc writes mbit, iperf3 prints Mbits/sec; none of these is ambiguous.
        for spelling in ("bit/s", "bps", "b/s", "bit", "bits/s", "bits/sec"):
            units[prefix + spelling] = factor
        units[prefix.lower() + "bit/s"] = units[prefix.lower() + "bit"] = units[prefix.lower() + "bps"] = (
            factor
        )
        for spelling in ("B/s", "byte/s", "bytes/s", "Byte/s", "Bytes/s"):
            units[prefix + spelling] = 8 * factor
    return units


def _size_units() -> dict[str, Fraction]:
    decimal = {f"{prefix}B": factor for prefix, factor in _powers(" ,k,M,G,T", 1000).items()}
    binary = {f"{prefix}B": factor for prefix, factor in _powers(" ,Ki,Mi,Gi,Ti", 1024).items()}
    return decimal | binary | {"byte": Fraction(1), "bytes": Fraction(1)}


_TIME_UNITS = {
    "ns": Fraction(1),
    "us": Fraction(10**3),
    "µs": Fraction(10**3),  # the micro sign
    "μs": Fraction(10**3),  # the Greek letter, which looks the same
    "ms": Fraction(10**6),
    "s": Fraction(10**9),
    "min": Fraction(60 * 10**9),
    "h": Fraction(3600 * 10**9),
}

RATE = Dimension(
    name="a rate",
    example="100 Mbit/s",
    base="bit/s",
    units=_rate_units(),
    advertised="bit/s, kbit/s, Mbit/s, Gbit/s",
    most="400 Gbit/s",
    hints={"mb/s": "Mbit/s for bits or MB/s for bytes", "mB/s": "Mbit/s for bits or MB/s for bytes"},
)
TIME = Dimension(
    name="a time",
    example="40 ms",
    base="ns",
    units=_TIME_UNITS,
    advertised="ns, us, ms, s, min, h",
    most="720 h",
    hints={"m": "min for minutes or ms for milliseconds"},
)
SIZE = Dimension(
    name="a size",
    example="300 kB",
    base="B",
    units=_size_units(),
    advertised="B, kB, MB, GB, KiB, MiB, GiB",
    most="1000000 TB",
    hints={
        "KB": "kB for 1000 bytes or KiB for 1024",
        "kb": "kB for 1000 bytes or KiB for 1024",
        "Kb": "kB for 1000 bytes or KiB for 1024",
    },
)
FRACTION = Dimension(
    name="a fraction",
    example="0.01 %",
    base="",
    units={"%": Fraction(1, 100)},
    advertised="%",
    most="100 %",
    hints={},
)
_PACKETS = Dimension(
    name="a number of packets",
    example="100 packets",
    base="packets",
    units={"packets": Fraction(1), "packet": Fraction(1)},
    advertised="packets",
    most="4000000000 packets",
    hints={},
)
_BDP = Dimension(
    name="a multiple of the bandwidth-delay product",
    example="1 bdp",
    base="",
    units={"bdp": Fraction(1), "BDP": Fraction(1)},
    advertised="bdp",
    most="1000000 bdp",
    hints={},
)
_BUFFER_DIMENSIONS: dict[Literal["bdp", "packets", "bytes", "ns"], Dimension] = {
    "bdp": _BDP,
    "packets": _PACKETS,
    "bytes": SIZE,
    "ns": TIME,
}
BUFFER = Dimension(
    name="a buffer",
    example="1 bdp",
    base="",
    units={unit: Fraction(1) for part in _BUFFER_DIMENSIONS.values() for unit in part.units},
    advertised="packets, B, kB, MB, ms, bdp",
    most="",
    hints={**SIZE.hints, **TIME.hints},
)


@dataclass(frozen=True)
class Buffer:
    """The size of a queue's buffer, in the unit as written."""

    amount: Fraction
    unit: Literal["bdp", "packets", "bytes", "ns"]


def _cached(parse: Callable[[object], T]) -> Callable[[object], T]:
    """Parse each text once: the runs of a scenario repeat a few texts many times."""
    of_text = lru_cache(maxsize=4096)(parse)

    @wraps(parse)
    def cached(text: object) -> T:
        return of_text(text) if isinstance(text, str) else parse(text)

    return cached


@_cached
def rate(text: object) -> int:
    """Return a rate in bit/s.

    >>> rate("100 Mbit/s"), rate("1.5 MB/s")
    (100000000, 12000000)
    """
    return _whole(text, RATE)


@_cached
def time(text: object) -> int:
    """Return a time in ns.

    >>> time("40 ms"), time("1.5s"), time("0")
    (40000000, 1500000000, 0)
    """
    return _whole(text, TIME)


@_cached
def size(text: object) -> int:
    """Return a size in bytes.

    >>> size("300 kB"), size("1 MiB")
    (300000, 1048576)
    """
    return _whole(text, SIZE)


@_cached
def fraction(text: object) -> Fraction:
    """Return a fraction of 1, exactly.

    >>> fraction("0.01 %")
    Fraction(1, 10000)
    """
    return _amount(text, FRACTION)


@_cached
def buffer(text: object) -> Buffer:
    """Return a buffer: packets, bytes, transmission time on the link (ns), or a multiple of the link's BDP.

    >>> buffer("0.1 bdp")
    Buffer(amount=Fraction(1, 10), unit='bdp')
    >>> buffer("300 kB")
    Buffer(amount=Fraction(300000, 1), unit='bytes')
    """
    unit = _split(text, BUFFER)[1]
    if not unit:
        raise UnitError(_no_unit(text, BUFFER))
    for name, dimension in _BUFFER_DIMENSIONS.items():
        if unit in dimension.units:
            amount = _amount(text, dimension)
            if name != "bdp" and amount.denominator != 1:
                raise UnitError(f"{shown(text)} is not a whole number of {dimension.base}")
            return Buffer(amount, name)
    raise UnitError(_wrong_unit(text, unit, BUFFER))


def _whole(text: object, dimension: Dimension) -> int:
    amount = _amount(text, dimension)
    if amount.denominator != 1:
        raise UnitError(
            f"{shown(text)} is finer than 1 {dimension.base}; give a whole number of {dimension.base}"
        )
    return int(amount)


def _amount(text: object, dimension: Dimension) -> Fraction:
    number, unit = _split(text, dimension)
    if not unit and number == 0:
        return number
    if not unit:
        raise UnitError(_no_unit(text, dimension))
    factor = dimension.units.get(unit)
    if factor is None:
        raise UnitError(_wrong_unit(text, unit, dimension))
    if number < 0:
        raise UnitError(f'{str(text).strip()} is negative; give {dimension.name} like "{dimension.example}"')
    if number * factor > _most(dimension):
        raise UnitError(f"{str(text).strip()} is too large; give at most {dimension.most}")
    return number * factor


def _most(dimension: Dimension) -> Fraction:
    number, unit = dimension.most.split()
    return Fraction(number) * dimension.units[unit]


def _split(text: object, dimension: Dimension) -> tuple[Fraction, str]:
    """Return the number and the unit; 0 needs no unit, and may be a number instead of a text."""
    if isinstance(text, (int, float)) and not isinstance(text, bool):
        if text == 0:
            return Fraction(0), ""
        raise UnitError(_no_unit(text, dimension))
    matched = _NUMBER_AND_UNIT.fullmatch(text) if isinstance(text, str) else None
    if matched is None:
        raise UnitError(f'{shown(text)} is not {dimension.name}; write one like "{dimension.example}"')
    sign, digits, unit = matched.groups()
    number = Fraction(digits)
    return (-number if sign == "-" else number), unit


def _no_unit(text: object, dimension: Dimension) -> str:
    number = _number(text)
    if dimension is FRACTION and 0 < number <= 1:
        # 0.01 probably means a hundredth, and "0.01 %" would be a hundredth of that.
        percent = float(number * 100)
        of_one = f"{float(number):g}"
        return f'{shown(text)} has no unit; write "{percent:g} %" for {of_one} of 1, or "{of_one} %"'
    example = f'{dimension.name} like "{dimension.example}"'
    return f"{shown(text)} has no unit; write {example} ({dimension.advertised})"


def _number(text: object) -> Fraction:
    """Return the number that a value without a unit is, as a number or as a text; 0 if it is none."""
    try:
        return Fraction(str(text).strip())
    except (ValueError, ZeroDivisionError):
        return Fraction(0)


def _wrong_unit(text: object, unit: str, dimension: Dimension) -> str:
    if unit in dimension.hints:
        return f"{shown(text)} is ambiguous; write {dimension.hints[unit]}"
    if unit.endswith("bit") and dimension in (SIZE, BUFFER):
        return f'{shown(text)} is in bits; write bytes, like "300 kB"'
    for other in (RATE, TIME, SIZE, FRACTION, _PACKETS, _BDP):
        if unit in other.units:
            return (
                f'{shown(text)} is {other.name}, not {dimension.name}; write one like "{dimension.example}"'
            )
    best = nearest(unit, dimension.advertised.split(", "))
    hint = f"did you mean {best}?" if best else f"use {dimension.advertised}"
    return f"{shown(text)} has an unknown unit; {hint}"
