"""Notes on the differences of two datasets other than their results."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any

from tussle.dataset import Dataset

_MISSING = "none"


def notes(first: Dataset, second: Dataset) -> list[str]:
    """Return the differences of two datasets in engines, versions, own algorithms and settings."""
    facts = [_facts(dataset) for dataset in (first, second)]
    names = dict.fromkeys([*facts[0], *facts[1]])
    pairs = {name: [str(each.get(name, _MISSING)) for each in facts] for name in names}
    return [f"not the same: {name}: {one} / {other}" for name, (one, other) in pairs.items() if one != other]


def _facts(dataset: Dataset) -> dict[str, Any]:
    known = dataset.provenance
    engine = {f"engine {key}": value for key, value in known.get("engine", {}).items()}
    own = {f"digest of {file}": digest for file, digest in known.get("own_algorithms_sha256", {}).items()}
    settings = dict(_flat(dataset.scenario.to_dict(), ""))
    return {"Tussle": known.get("tussle"), **engine, **own, **settings}


def _flat(value: Any, key: str) -> Iterator[tuple[str, Any]]:
    """Yield each setting with its key, such as `flows.0.algorithm`."""
    if isinstance(value, Mapping):
        items = list(value.items())
    elif isinstance(value, list) and value and isinstance(value[0], Mapping):
        items = [(str(index), each) for index, each in enumerate(value)]
    else:
        yield key, value
        return
    for inner, each in items:
        yield from _flat(each, f"{key}.{inner}" if key else inner)
