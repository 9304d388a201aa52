"""What the simulator knows by name: algorithms and queues, as its core declares them."""

import json
from dataclasses import dataclass
from functools import cache
from typing import Any

from tussle import _core


@dataclass(frozen=True)
class Catalog:
    """The core's registries, by name, in their own order."""

    algorithms: dict[str, dict[str, Any]]
    """Each with name, idea, source, agrees_with, parameters (name, default, min, max, meaning)."""
    queues: dict[str, dict[str, Any]]
    """Each with name, idea, source."""


@cache
def catalog() -> Catalog:
    """Return the catalogue; it is fixed when the core is built."""
    registries = json.loads(_core.catalog())
    return Catalog(_by_name(registries["algorithms"]), _by_name(registries["queues"]))


def _by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in entries}
