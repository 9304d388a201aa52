"""The ready scenarios that come with Tussle, named by the question they answer."""

from os import PathLike
from pathlib import Path

from tussle.errors import TussleError, unknown


def ready_scenarios() -> dict[str, Path]:
    """Return the file of each ready scenario, by name."""
    folder = Path(__file__).parent.parent / "scenarios"
    return {file.stem: file for file in sorted(folder.glob("*.toml"))}


def ready_scenario(name: str | PathLike[str]) -> Path:
    """Return the file for `name`: a file of that name, else a ready scenario."""
    file = Path(name)
    if file.exists() or file.suffix or file.parent != Path():
        return file
    if file.name not in ready_scenarios():
        raise TussleError(f"{unknown('scenario', file.name, ready_scenarios())}")
    return ready_scenarios()[file.name]
