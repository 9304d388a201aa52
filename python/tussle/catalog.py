"""Algorithms, queues and elements by name, as the core declares them, and groups of algorithms."""

import json
from collections.abc import Iterable
from dataclasses import dataclass
from functools import cache
from typing import Any

from tussle import _core
from tussle.registry import Registry


@dataclass(frozen=True)
class Catalog:
    """The core's registries, by name, in their own order."""

    algorithms: Registry[dict[str, Any]]
    """Each with name, idea, source, agrees_with, parameters (name, default, min, max, meaning)."""
    queues: Registry[dict[str, Any]]
    """Each with name, idea, source."""
    elements: Registry[dict[str, Any]]
    """The elements of paths, each with name, idea."""


@cache
def catalog() -> Catalog:
    """Return the catalogue; it is fixed when the core is built."""
    registries = json.loads(_core.catalog())
    return Catalog(
        **{name: Registry(name.removesuffix("s"), _by_name(each)) for name, each in registries.items()}
    )


@dataclass(frozen=True)
class Group:
    """A named group of algorithms. Every list of algorithms accepts its name."""

    name: str
    about: str
    algorithms: tuple[str, ...]


_LINUX_13 = (
    "reno",
    "bic",
    "cubic",
    "highspeed",
    "htcp",
    "hybla",
    "illinois",
    "lp",
    "scalable",
    "vegas",
    "veno",
    "westwood",
    "yeah",
)


@cache
def groups() -> Registry[Group]:
    """Return the groups of algorithms by name."""
    linux13, linux = _LINUX_13, (*_LINUX_13, "bbr", "cdg", "dctcp", "nv")
    known = (
        Group("linux13", "Linux's thirteen algorithms before CDG, DCTCP, NV and BBR.", linux13),
        Group("linux", "All algorithms of Linux 6.1.", linux),
        Group("all", "All algorithms of Tussle.", tuple(catalog().algorithms)),
    )
    return Registry("group", {group.name: group for group in known})


def algorithm_names() -> list[str]:
    """Return the names that a list of algorithms accepts: algorithms, then groups."""
    return [*catalog().algorithms, *groups()]


def without_groups(names: Iterable[str]) -> list[str]:
    """Replace each group by its algorithms, except those that are also listed by name.

    >>> without_groups(["vegas", "linux13"])[:4]
    ['vegas', 'reno', 'bic', 'cubic']
    """
    names = list(names)
    expanded: list[str] = []
    for name in names:
        if name in groups():
            expanded += [each for each in groups()[name].algorithms if each not in {*names, *expanded}]
        else:
            expanded.append(name)
    return expanded


def _by_name(entries: list[dict[str, Any]]) -> dict[str, dict[str, Any]]:
    return {entry["name"]: entry for entry in entries}
