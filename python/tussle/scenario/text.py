"""Scenario files and settings as text: TOML in, TOML out."""

import re
import tomllib
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from tussle.errors import TussleError, expect, shown
from tussle.scenario.files import read_bounded

_MOST_MIB = 4
"""Scenarios of a hundred thousand cases are shorter."""


def read_toml(file: Path, source: str, where_others_are: str = "check its name") -> dict[str, Any]:
    """Return the file's tables; `source` names it in errors."""
    try:
        text = read_bounded(file, _MOST_MIB).decode("utf-8-sig")
    except FileNotFoundError:
        raise TussleError(f"{source}: there is no file {file}; {where_others_are}") from None
    except IsADirectoryError:
        raise TussleError(f"{source}: {file} is a folder; name a file in it") from None
    except UnicodeDecodeError:
        raise TussleError(f"{source}: {file} is not text in UTF-8; save it in UTF-8") from None
    except (OSError, ValueError) as error:
        reason = error.strerror if isinstance(error, OSError) else str(error)
        raise TussleError(f"{source}: {shown(str(file))} cannot be read ({reason})") from None
    return parse_toml(text, source)


def parse_toml(text: str, source: str) -> dict[str, Any]:
    """Return the tables of a TOML text; `source` names it in errors."""
    try:
        return tomllib.loads(text)
    except tomllib.TOMLDecodeError as error:
        # "Invalid value (at line 3, column 8)" → "line 3, column 8: not valid TOML: invalid value"
        what, _, position = str(error).removesuffix(")").partition(" (at ")
        where = position if position.startswith("line") else "last line"
        raise TussleError(f"{source}, {where}: not valid TOML: {what[0].lower()}{what[1:]}") from None
    except (ValueError, RecursionError):
        raise TussleError(f"{source}: a number is too long or a list too deep to read; shorten it") from None


def value_of_text(text: str) -> Any:
    """Return a setting's value: parsed as TOML if it is valid TOML, else the text itself.

    >>> value_of_text("3"), value_of_text("50 Mbit/s"), value_of_text('["1 bdp", "2 bdp"]')
    (3, '50 Mbit/s', ['1 bdp', '2 bdp'])
    """
    try:
        values = tomllib.loads(f"value = {text}")
    except (ValueError, RecursionError):
        return text
    return values["value"] if values.keys() == {"value"} else text


def with_settings(tables: Mapping[str, Any], settings: Mapping[str, Any]) -> dict[str, Any]:
    """Return a copy of the tables with each setting at its dotted key; missing tables are made."""
    changed = dict(tables)
    for key, value in settings.items():
        expect("settings", key, str, 'a key, like "path.rate"')
        try:
            changed = _with_value(changed, key.split("."), value)
        except IndexError as error:
            raise TussleError(f"setting {key}: {error}") from None
    return changed


def _with_value(at: Any, keys: list[str], value: Any) -> Any:
    if not keys:
        return value
    key, *rest = keys
    if isinstance(at, list):
        if not re.fullmatch("[0-9]{1,9}", key) or int(key) >= len(at):
            raise IndexError(f"there is no item {key}; the items are 0 to {len(at) - 1}")
        index = int(key)
        return [*at[:index], _with_value(at[index], rest, value), *at[index + 1 :]]
    table = at if isinstance(at, Mapping) else {}
    return {**table, key: _with_value(table.get(key), rest, value)}


_MEDIA = ("arq", "wifi")
"""Tables that are there or not, whatever they contain: an empty one is a medium with its defaults."""


def without_empty_tables(tables: dict[str, Any]) -> dict[str, Any]:
    """Return the tables without those that are empty and say nothing."""
    pruned = {key: _pruned(value) for key, value in tables.items()}
    return {key: value for key, value in pruned.items() if value != {} or key in _MEDIA}


def _pruned(value: Any) -> Any:
    if isinstance(value, dict):
        return without_empty_tables(value)
    if isinstance(value, list):
        return [_pruned(each) for each in value]
    return value
