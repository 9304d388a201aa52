"""Host profiles: named settings of hosts, each a TOML file in this folder with a source for every value."""

import tomllib
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

DEFAULT_PROFILE = "bare"
"""The profile of hosts that have no other."""


@dataclass(frozen=True)
class HostProfile:
    """Named settings of a host: values for the keys of a scenario's `[hosts]`."""

    name: str
    about: str
    values: dict[str, Any]
    """Values by key."""
    sources: dict[str, str]
    """Source of each value by key."""
    never: dict[str, list[Any]]
    """Values by key that the kernels of the profile never had."""


@cache
def host_profiles() -> dict[str, HostProfile]:
    """Return every host profile by name; a new file in this folder is a new profile."""
    return {file.stem: _read(file) for file in sorted(Path(__file__).parent.glob("*.toml"))}


def _read(file: Path) -> HostProfile:
    tables = tomllib.loads(file.read_text("utf-8"))
    settings = tables["hosts"].items()
    return HostProfile(
        name=file.stem,
        about=tables["about"],
        values={key: setting["value"] for key, setting in settings},
        sources={key: setting["source"] for key, setting in settings},
        never={key: setting["never"] for key, setting in settings if "never" in setting},
    )
