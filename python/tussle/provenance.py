"""Provenance of results: the facts that are needed to repeat them, and to compare a repetition."""

import hashlib
import platform
import shlex
import sys
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

import tussle


@dataclass(frozen=True)
class Origin:
    """The scenario, its seed, and the engine."""

    scenario_toml: str
    seed: int
    engine: Mapping[str, str]
    """Name and version of the engine, and all other facts that decide its results."""
    own_algorithms: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256, in hexadecimal, of each Python file that contains an algorithm."""

    @property
    def scenario_sha256(self) -> str:
        """Digest of the scenario, in hexadecimal."""
        return hashlib.sha256(self.scenario_toml.encode()).hexdigest()


def provenance(origin: Origin, folder: Path) -> dict[str, Any]:
    """Return the provenance of the results in `folder`: the origin, the host, and the command to repeat them.

    There is no time of day, so that equal runs have equal provenance.
    """
    return {
        "tussle": tussle.__version__,
        "engine": dict(origin.engine),
        "seed": origin.seed,
        "scenario_sha256": origin.scenario_sha256,
        "own_algorithms_sha256": dict(origin.own_algorithms),
        "command": command(folder, origin.engine),
        "host": {
            "platform": platform.platform(),
            "machine": platform.machine(),
            "python": sys.version.split()[0],
            "polars": pl.__version__,
        },
    }


def command(folder: Path, engine: Mapping[str, str]) -> str:
    """Return the shell command that repeats the results of `folder`, in a new folder beside it."""
    again = folder.with_name(f"{folder.name}-again")
    given = [] if engine["name"] == "sim" else [("--engine", engine["name"])]
    options = ("machine", "kernel", "modules", "hosts")
    given += [(f"--{option}", engine[option]) for option in options if option in engine]
    if engine.get("network", "auto") != "auto":
        given.append(("--network", engine["network"]))
    chosen = [word for option in given for word in option]
    return shlex.join(["tussle", "run", str(folder / "scenario.toml"), *chosen, "-o", str(again)])
