"""Problems of a scenario, as error messages."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple, TypeGuard, get_args

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from tussle.errors import plain, shown, unknown

_MISSING = {
    "duration": 'missing; give the duration of a run, like duration = "60 s"',
    "path": "missing; give a [path] with a rate and an rtt",
    "flows": "missing; give each flow in a [[flows]] table",
    "algorithm": 'missing; give one, like algorithm = "cubic"',
    "application.kind": 'missing; give one, like kind = "rate"',
    "kind": 'missing; give the kind of element, like kind = "jitter"',
    "at": 'missing; give the time, like at = "20 s"',
}


class Problem(NamedTuple):
    """One problem: its key (dotted, or empty), and what is wrong and what to do."""

    where: str
    what: str

    def sentence(self, source: str) -> str:
        """Return the error message; `source` names the scenario."""
        return f"{source}, {self.where}: {self.what}" if self.where else f"{source}: {self.what}"


def problems_of(error: ValidationError, model: type[BaseModel], tables: object) -> list[Problem]:
    """Return pydantic's findings in these tables as problems."""
    details = error.errors(include_url=False, include_context=False)
    return [_problem(each, model, tables) for each in details if not _follows_from_another(each)]


def _follows_from_another(error: ErrorDetails) -> bool:
    """Return whether the list is too short only because its items were refused."""
    return error["type"] == "too_short" and bool(error["input"])


def _problem(error: ErrorDetails, model: type[BaseModel], tables: object) -> Problem:
    location = error["loc"]
    if error["type"] == "extra_forbidden":
        *table, key = location
        if (
            table
            and table[0] == "flows"
            and len(table) == len(("flows", 0))
            and key in _keys(_table_at(model, ["hosts"]))
        ):
            what = "a setting of hosts; write it below [hosts], or as {0} of sender or receiver"
            return Problem(_dotted(location), what.format(key))
        found = _table_at(model, table)
        kinds = _kinds_at(tables, table)
        return Problem(_dotted(table), _unknown_key(str(key), error["input"], found, kinds))
    return Problem(_dotted(location), _what(error))


def _what(error: ErrorDetails) -> str:
    location, value = error["loc"], shown(error["input"])
    match error["type"]:
        case "tussle":
            return error["msg"]
        case "missing":
            last_two = ".".join(str(part) for part in location[-2:])
            return _MISSING.get(last_two, _MISSING.get(str(location[-1]), "missing"))
        case "too_short":
            return "there are no flows; give at least one [[flows]] table"
        case "tuple_type":
            return f"{value} is not a list of tables; write [[{_dotted(location)}]] above each"
        case "model_type" | "dict_type":
            return f"{value} is not a table; write its keys under {_header(location)}"
        case _:
            return f"{value}: {error['msg'].lower()}"


def _header(location: tuple[int | str, ...]) -> str:
    """Return what a person writes above the keys of the table at `location`."""
    match location:
        case ():
            return "names such as [path]"
        case (*outer, int()):
            return f"[[{_dotted(outer)}]]"
        case _:
            return f"[{'.'.join(plain(part) for part in location if isinstance(part, str))}]"


def _dotted(location: Iterable[int | str]) -> str:
    return ".".join(plain(str(part)) for part in location)


def _unknown_key(key: str, value: object, table: type[BaseModel], written: list[str]) -> str:
    """Return what is wrong with a key that a table of these kinds does not have."""
    kinds = getattr(table, "kinds", None)
    if kinds and isinstance(value, str) and value in kinds.by_name:
        return f'unknown key {shown(key)}; did you mean kind = "{value}"?'
    if kinds and written and all(kind in kinds.by_name for kind in written):
        keys = dict.fromkeys(each for kind in written for each in _keys_of_one(kinds.by_name[kind]))
        return unknown("key", key, keys)
    return unknown("key", key, _keys(table))


def _kinds_at(tables: object, location: Iterable[int | str]) -> list[str]:
    """Return the kinds that the table at `location` names; none if it leaves them to the profile."""
    table: Any = tables
    for part in location:
        is_there = isinstance(table, Mapping) if isinstance(part, str) else isinstance(table, Sequence)
        table = table[part] if is_there else {}
    kind = table.get("kind") if isinstance(table, Mapping) else None
    kinds = [kind] if isinstance(kind, str) else kind if isinstance(kind, list | tuple) else []
    return [str(each) for each in kinds]


def _keys_of_one(table: type[BaseModel]) -> list[str]:
    return [field.alias or name for name, field in table.model_fields.items()]


def _keys(table: type[BaseModel]) -> list[str]:
    """List the keys of a table."""
    kinds = getattr(table, "kinds", None)
    return kinds.keys() if kinds else _keys_of_one(table)


def _table_at(model: type[BaseModel], location: Iterable[int | str]) -> type[BaseModel]:
    """Return the table at `location`."""
    table = model
    for part in location:
        if isinstance(part, str):
            annotation = {field.alias or name: field for name, field in table.model_fields.items()}[
                part
            ].annotation
            table = next(each for each in annotations_in(annotation) if _is_table(each))
    return table


def annotations_in(annotation: Any) -> Iterator[Any]:
    """Yield an annotation, then its parts."""
    yield annotation
    for each in get_args(annotation):
        yield from annotations_in(each)


def _is_table(annotation: Any) -> TypeGuard[type[BaseModel]]:
    return isinstance(annotation, type) and issubclass(annotation, BaseModel)
