"""Profiles: named paths, each a TOML file in this folder with the sources of its numbers."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

from tussle.registry import Registry


@dataclass(frozen=True)
class Profile:
    """A named path: values for keys of a scenario's `[path]`."""

    name: str
    about: str
    source: str
    """The sources of the numbers."""
    path: dict[str, Any]
    """Keys of a scenario's `[path]`, with their values."""


@cache
def profiles() -> Registry[Profile]:
    """Return every profile by name; a new file in this folder is a new profile."""
    files = sorted(Path(__file__).parent.glob("*.toml"))
    found = {file.stem: Profile(name=file.stem, **tomllib.loads(file.read_text("utf-8"))) for file in files}
    return Registry("profile", found)
