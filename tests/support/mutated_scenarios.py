"""Mutations of the ready scenarios, as by typing errors, editors, faulty disks or other programs."""

import copy
import datetime
import functools
import math
import random
import re
import tomllib
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import tomlkit

from mutated import HOSTILE_TEXTS, at, generator, leaves_of
from tussle.scenario import ready_scenarios

QUANTITY = re.compile(r"(?P<number>[0-9.]*[1-9][0-9.]*) (?P<unit>\S+)")
"""A number above zero and its unit."""
UNITS_ELSEWHERE = ["kg", "°C", "baud", "mbits", "m/s", "packet s", "bdps", "/s", "%%", "\u00b5", "s s"]


INSTANTS = {"duration", "from", "to", "at", "start", "stop"}


class Mutation(NamedTuple):
    """A scenario file after a change."""

    description: str
    content: bytes
    wrong: bool
    """Whether the change certainly is a mistake; else the file may still be a valid scenario."""
    key: tuple[str | int, ...] = ()
    """The changed key, where the file decides whether the change is a mistake."""


@functools.cache
def bases() -> dict[str, dict[str, Any]]:
    """Return the tables of the ready scenarios, random ones shortened: each check samples all arrivals."""
    tables = {name: tomllib.loads(file.read_text("utf-8")) for name, file in ready_scenarios().items()}
    for each in tables.values():
        if any("arrivals" in flow for flow in each["flows"]):
            each["duration"] = "10 s"
    return tables


@functools.cache
def short_bases() -> dict[str, dict[str, Any]]:
    """Return the ready scenarios with one point each and a hundredth of the time."""
    return {name: shortened(tables) for name, tables in bases().items()}


def shortened(value: Any, key: str = "") -> Any:
    match value:
        case dict():
            once = {"repetitions": 1} if "flows" in value else {}
            return {name: shortened(each, name) for name, each in value.items()} | once
        case [dict(), *_]:
            return [shortened(each) for each in (value[:1] if key == "cases" else value)]
        case [first, *_]:
            return shortened(first, key)
    seconds = re.fullmatch(r"([0-9]+) s", value) if isinstance(value, str) else None
    return f"{int(seconds[1]) * 10} ms" if seconds and key in INSTANTS else value


def mutation(number: int, of: Mapping[str, dict[str, Any]]) -> Mutation:
    """Return the mutation with this number."""
    rng = generator("scenario", number)
    name = rng.choice(sorted(of))
    kind = KINDS[number % len(KINDS)]
    made = kind(rng, copy.deepcopy(of[name]))
    return made._replace(description=f"{number}: {kind.__name__} of {name}: {made.description}")


def mistake(description: str, tables: dict[str, Any]) -> Mutation:
    return Mutation(description, tomlkit.dumps(tables).encode(), wrong=True)


def perhaps(description: str, tables: dict[str, Any]) -> Mutation:
    """Return a mutation that may still be a valid scenario."""
    return mistake(description, tables)._replace(wrong=False)


def a_quantity(rng: random.Random, tables: dict[str, Any]) -> tuple[tuple[str | int, ...], re.Match[str]]:
    found = [
        (leaf, match)
        for leaf in leaves_of(tables)
        if isinstance(at(tables, leaf), str) and (match := QUANTITY.fullmatch(at(tables, leaf)))
    ]
    return rng.choice(found)


def put(tables: dict[str, Any], path: tuple[str | int, ...], value: Any) -> str:
    at(tables, path[:-1])[path[-1]] = value
    return f"{path} = {str(value)[:40]!r}"


def negative(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    return mistake(put(tables, path, f"-{match[0]}"), tables)


def without_unit(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    number = match["number"]
    return mistake(put(tables, path, rng.choice([number, float(number)])), tables)


def foreign_unit(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    return mistake(put(tables, path, f"{match['number']} {rng.choice(UNITS_ELSEWHERE)}"), tables)


def unit_of_another(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    """Replace the unit of a quantity, perhaps by one of another dimension; a limit allows several."""
    path, match = a_quantity(rng, tables)
    unit = rng.choice(["ms", "Mbit/s", "packets", "%", "bdp", "kB"])
    return perhaps(put(tables, path, f"{match['number']} {unit}"), tables)


def huge(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    number = rng.choice(["1e300", "9" * 400, "1" + "0" * 30])
    return mistake(put(tables, path, f"{number} {match['unit']}"), tables)


def not_finite(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    number = rng.choice(["nan", "inf", "-inf", "NaN", "infinity"])
    value = rng.choice([f"{number} {match['unit']}", float(number)])
    return mistake(put(tables, path, value), tables)


def zero(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    number = rng.choice(["0", "-0", "0.0"])
    return perhaps(put(tables, path, f"{number} {match['unit']}"), tables)


def wrong_type(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, _ = a_quantity(rng, tables)
    others = [True, {"a": 1}, [[1]], datetime.date(2024, 2, 29), datetime.time(1, 2), [{}], {}, [None][:0]]
    return mistake(put(tables, path, rng.choice(others)), tables)


def any_value(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    others = [0, -1, 1, 2**63, -(2**63), 1.5, math.nan, math.inf, 1e308, True, [], {}, [1, "1"], "on", "off"]
    return perhaps(put(tables, rng.choice(leaves_of(tables)), rng.choice(others)), tables)


def hostile_text(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path = rng.choice(leaves_of(tables))
    made = mistake(put(tables, path, rng.choice(HOSTILE_TEXTS)), tables)
    return made._replace(wrong=path[-1] not in ("question", "name"), key=path)


def hostile_name(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    flow = rng.randrange(len(tables["flows"]))
    return perhaps(put(tables, ("flows", flow, "name"), rng.choice(HOSTILE_TEXTS)), tables)


def counted(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    """Set a count to a value out of range or of a wrong type."""
    key = rng.choice([("repetitions",), ("seed",), ("flows", 0, "count")])
    value = rng.choice([-1, 2**64, 10**30, 1.5, math.inf, math.nan, "many", True])
    return mistake(put(tables, key, value), tables)


def renamed_key(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path = rng.choice([leaf for leaf in leaves_of(tables) if isinstance(leaf[-1], str)])
    table, key = at(tables, path[:-1]), path[-1]
    table[rng.choice([f"{key}x", str(key).upper(), f" {key}", *HOSTILE_TEXTS])] = table.pop(key)
    return mistake(f"{path} renamed", tables)


def removed_key(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path = rng.choice(leaves_of(tables))
    del at(tables, path[:-1])[path[-1]]
    needed = [("duration",), ("path", "rtt"), ("path", "rate"), ("flows", 0, "algorithm")]
    cases = {key for case in tables.get("cases", []) for key in case}
    wrong = path in needed and ".".join(map(str, path)) not in cases
    return perhaps(f"{path} removed", tables)._replace(wrong=wrong, key=path)


def added_key(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    places = [(), ("path",), ("flows", rng.randrange(len(tables["flows"])))]
    path = (*rng.choice(places), rng.choice(["rates", "__class__", "model_config", "", "0", "\x7f"]))
    return mistake(put(tables, path, "1 s"), tables)


def deep(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    opened, closed = rng.choice([("[", "]"), ("{a=", "}")])
    depth = rng.choice([30, 300, 30_000])
    rest = tomlkit.dumps({key: value for key, value in tables.items() if key != "seed"})
    return Mutation(f"{depth} deep", f"seed = {opened * depth}1{closed * depth}\n{rest}".encode(), wrong=True)


def long_list(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    path, match = a_quantity(rng, tables)
    values = rng.choice([[match[0]] * 99, [f"{number + 1} {match['unit']}" for number in range(99)]])
    return perhaps(put(tables, path, values), tables)


def endless_trace(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    file = rng.choice(["/dev/zero", "/dev", "/dev/null", "\x00", "x" * 5000, "/proc/self/mem", "nowhere"])
    tables["path"].pop("rate", None)
    return mistake(put(tables, ("path", "trace"), file), tables)


def own_algorithm(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    file = rng.choice(["/dev/zero:A", "/dev:A", "nowhere.py:A", "\x00.py:A", "x.py:", ":A", "a.py:[/red]"])
    return mistake(put(tables, ("flows", 0, "algorithm"), file), tables)


def duplicated_key(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    lines = tomlkit.dumps(tables).splitlines()
    number = rng.choice([n for n, line in enumerate(lines) if re.match(r"[a-z_]+ = [^\[]", line)])
    text = "\n".join([*lines[: number + 1], *lines[number:]])
    return Mutation(f"line {number + 1} twice", text.encode(), wrong=True)


def control_character(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    content = bytearray(tomlkit.dumps(tables).encode())
    content.insert(place := rng.randrange(len(content)), rng.choice([0, 1, 7, 27, 127, 255, 0x80]))
    return Mutation(f"a control character at {place}", bytes(content), wrong=True)


def flipped_bytes(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    content = bytearray(tomlkit.dumps(tables).encode())
    for _ in range(rng.choice([1, 1, 4, 16])):
        content[rng.randrange(len(content))] ^= 1 << rng.randrange(8)
    return Mutation("flipped", bytes(content), wrong=False)


def truncated(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    content = tomlkit.dumps(tables).encode()
    return Mutation("truncated", content[: rng.randrange(len(content))], wrong=False)


def another_encoding(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    encoding = rng.choice(["utf-16", "utf-32", "utf-16-be"])
    return Mutation(encoding, tomlkit.dumps(tables).encode(encoding), wrong=True)


def with_mark(rng: random.Random, tables: dict[str, Any]) -> Mutation:
    """Insert the byte order mark that some editors write; a second one is a mistake."""
    twice = rng.random() < 0.5
    return Mutation("marks", b"\xef\xbb\xbf" * (1 + twice) + tomlkit.dumps(tables).encode(), wrong=twice)


ANY_TABLES: list[Callable[[random.Random, dict[str, Any]], Mutation]] = [
    any_value,
    hostile_text,
    renamed_key,
    removed_key,
    deep,
    duplicated_key,
    control_character,
    flipped_bytes,
    truncated,
    another_encoding,
    with_mark,
]
"""Mutations of any file of TOML with a number or a text in each table."""

QUANTITIES: list[Callable[[random.Random, dict[str, Any]], Mutation]] = [
    negative,
    without_unit,
    foreign_unit,
    unit_of_another,
    huge,
    not_finite,
    zero,
    wrong_type,
    long_list,
]
"""Mutations of a file with quantities."""

KINDS: list[Callable[[random.Random, dict[str, Any]], Mutation]] = [
    negative,
    without_unit,
    foreign_unit,
    unit_of_another,
    huge,
    not_finite,
    zero,
    wrong_type,
    any_value,
    hostile_text,
    hostile_name,
    counted,
    renamed_key,
    removed_key,
    added_key,
    deep,
    long_list,
    endless_trace,
    own_algorithm,
    duplicated_key,
    control_character,
    flipped_bytes,
    truncated,
    another_encoding,
    with_mark,
]
