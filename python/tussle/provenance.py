"""Where results come from: enough to repeat them, and to see whether a repetition gave the same."""

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
    """What was asked for, and of which engine."""

    scenario_toml: str
    seed: int
    engine: Mapping[str, str]
    """Name and version of the engine, and whatever else decides its results."""
    own_algorithms: Mapping[str, str] = field(default_factory=dict)
    """The SHA-256 of each Python file that an algorithm is in, in hexadecimal."""

    @property
    def scenario_sha256(self) -> str:
        """Digest of the scenario, in hexadecimal."""
        return hashlib.sha256(self.scenario_toml.encode()).hexdigest()


def provenance(origin: Origin, folder: Path) -> dict[str, Any]:
    """Facts about results that are to stand in `folder`: the origin, the host, how to repeat them.

    No wall clock: the time of a run says nothing about its results, and equal runs shall look equal.
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
    """The command, quoted for a shell, that repeats the results in `folder` next to them."""
    again = folder.with_name(f"{folder.name}-again")
    given = [] if engine["name"] == "sim" else [("--engine", engine["name"])]
    options = ("machine", "kernel", "modules", "hosts")
    given += [(f"--{option}", engine[option]) for option in options if option in engine]
    if engine.get("network", "auto") != "auto":
        given.append(("--network", engine["network"]))
    chosen = [word for option in given for word in option]
    return shlex.join(["tussle", "run", str(folder / "scenario.toml"), *chosen, "-o", str(again)])
