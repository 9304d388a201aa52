"""Options and arguments that several commands have, and their parsing."""

from pathlib import Path
from typing import Annotated, Any

import typer

from tussle.errors import TussleError, shown
from tussle.experiment import algorithms_of
from tussle.scenario import value_of_text
from tussle.units import UnitError
from tussle.units import time as time_of

__all__ = ["algorithms_of"]

RESULTS = Path("results")
"""The folder of datasets without `--output`."""


def folder_of(written: str) -> Path:
    """Return the folder at a path, or at an address like `s3://bucket/folder`."""
    from tussle.dataset.places import place

    return place(written)


DatasetFolder = Annotated[
    Path,
    typer.Argument(
        metavar="DIR",
        parser=folder_of,
        help="A dataset: the folder that `tussle run` or `tussle matrix` wrote.",
    ),
]
Settings = Annotated[
    list[str] | None,
    typer.Option(
        "--set",
        metavar="KEY=VALUE",
        help='Another value for a key of the scenario, such as path.rate="50 Mbit/s". Repeatable.',
    ),
]
Output = Annotated[
    Path | None,
    typer.Option(
        "--output",
        "-o",
        metavar="DIR",
        parser=folder_of,
        help="Folder of the results, or an address like s3://bucket/folder; it must not exist yet.",
    ),
]
Workers = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        min=1,
        help="Number of parallel runs; does not change results.",
        show_default="one per core",
    ),
]
ClusterAddress = Annotated[
    str | None,
    typer.Option(
        "--cluster",
        metavar="ADDRESS",
        help="Execute the runs on a Dask cluster: its scheduler's address, like tcp://host:8786, or the file "
        "that `dask scheduler --scheduler-file` wrote. Does not change results.",
    ),
]
Seed = Annotated[
    int | None,
    typer.Option(metavar="N", help="Seed of every random number generator.", show_default="the scenario's"),
]
Repetitions = Annotated[
    int | None,
    typer.Option(
        metavar="N",
        help="Runs of each point, each with other random numbers.",
        show_default="the scenario's, else 10 if anything is random",
    ),
]
RepetitionsOfPairs = Annotated[
    int,
    typer.Option(
        metavar="N",
        help="Runs of each pair, each with other random numbers; the interval of a verdict needs 6.",
    ),
]
AsJson = Annotated[
    bool,
    typer.Option(
        "--json", help="Print the results as JSON, in the format of docs/reference/json.md, and no tables."
    ),
]
RunOrder = Annotated[
    str,
    typer.Option(
        "--order",
        metavar="points|round-robin|random",
        help="Order of the runs: point by point, round-robin, or round-robin in random order.",
    ),
]


def parse_settings(settings: list[str] | None) -> dict[str, Any]:
    """Return the values of `KEY=VALUE` texts by their keys."""
    parsed: dict[str, Any] = {}
    for setting in settings or []:
        key, equals, text = setting.partition("=")
        if not equals or not key.strip():
            raise TussleError(f'--set {shown(setting)}: write KEY=VALUE, like path.rate="50 Mbit/s"')
        parsed[key.strip()] = value_of_text(text.strip())
    return parsed


def given(options: dict[str, Any]) -> dict[str, Any]:
    return {key: value for key, value in options.items() if value is not None}


def at_least(least: str, option: str, written: str) -> int:
    try:
        time_ns = time_of(written)
    except UnitError as error:
        raise TussleError(f"{option}: {error}") from None
    if time_ns < time_of(least):
        raise TussleError(f"{option}: {written} is too short; give at least {least}")
    return time_ns
