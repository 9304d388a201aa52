"""Lists where a single value could stand: finding them, and one scenario for each combination."""

import itertools
import math
from collections.abc import Iterator
from typing import Any, TypeGuard, TypeVar

from pydantic import BaseModel

from tussle.scenario.kinds import KindTable

MOST_RUNS = 100_000

Model = TypeVar("Model", bound=BaseModel)


def axes_of(table: BaseModel) -> dict[str, tuple[Any, ...]]:
    """Return the values of each axis by its key, in the order of the reference page."""
    found: dict[str, tuple[Any, ...]] = {}
    for name, field in type(table).model_fields.items():
        found |= _axes_at(field.alias or name, getattr(table, name))
    return found


def combinations_count(table: BaseModel) -> int:
    """Return the number of combinations, without making them."""
    return math.prod(len(values) for values in axes_of(table).values())


def combinations(table: Model) -> Iterator[tuple[dict[str, str], Model]]:
    """Yield the values as written and the table with them in place; the last axis varies fastest."""
    axes = axes_of(table)
    for values in itertools.product(*axes.values()):
        chosen = dict(zip(axes, values, strict=True))
        yield {key: written(value) for key, value in chosen.items()}, _chosen(table, "", chosen)


def written(value: Any) -> str:
    """Return a value of an axis as a scenario file has it, without quotes."""
    return str(value).lower() if isinstance(value, bool) else str(value)


def _is_list_of_tables(value: Any) -> TypeGuard[tuple[BaseModel | dict[str, Any], ...]]:
    """Distinguish a list of tables, which may be empty, from an axis, which is never empty."""
    return isinstance(value, tuple) and (not value or isinstance(value[0], BaseModel | dict))


def _axes_at(key: str, value: Any) -> dict[str, tuple[Any, ...]]:
    """Find the axes in the value at `key`; a list of tables is not an axis, but may contain axes."""
    if isinstance(value, BaseModel):
        return {f"{key}.{inner}": values for inner, values in axes_of(value).items()}
    if isinstance(value, dict):
        return {k: v for name, each in value.items() for k, v in _axes_at(f"{key}.{name}", each).items()}
    if _is_list_of_tables(value):
        return {k: v for index, each in enumerate(value) for k, v in _axes_at(f"{key}.{index}", each).items()}
    return {key: value} if isinstance(value, tuple) else {}


def _chosen(value: Any, key: str, chosen: dict[str, Any]) -> Any:
    """Copy `value`, which is at `key`, with each axis replaced by the chosen value.

    Parts without an axis are not copied.
    """
    if key and not any(axis == key or axis.startswith(f"{key}.") for axis in chosen):
        return value
    if isinstance(value, BaseModel):
        prefix = f"{key}." if key else ""
        fields = type(value).model_fields.items()
        changed = {
            name: _chosen(getattr(value, name), f"{prefix}{field.alias or name}", chosen)
            for name, field in fields
        }
        copied = value.model_copy(update=changed)
        return copied.settled() if isinstance(copied, KindTable) else copied
    if isinstance(value, dict):
        return {name: _chosen(each, f"{key}.{name}", chosen) for name, each in value.items()}
    if _is_list_of_tables(value):
        return tuple(_chosen(each, f"{key}.{index}", chosen) for index, each in enumerate(value))
    return chosen.get(key, value)
