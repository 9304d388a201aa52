"""Files that a scenario names: recordings of networks, and Python files of users' own algorithms."""

import os
from collections import Counter
from collections.abc import Callable, Iterable, Mapping
from pathlib import Path
from typing import Any

from tussle.own_algorithms import Reference, is_plain_file

RECORDINGS = "recordings"
"""The folder of recordings beside a scenario that is stored with them."""

_Key = tuple[str, ...]
_RECORDINGS: tuple[_Key, ...] = (
    ("path", "trace"),
    ("path", "reverse", "trace"),
    ("path", "elements", "series"),
    ("path", "reverse", "elements", "series"),
)
_ALGORITHMS: tuple[_Key, ...] = (("flows", "algorithm"),)


def with_files_beside(folder: Path, tables: dict[str, Any]) -> dict[str, Any]:
    """Replace the names of files that are in `folder` by paths from the current folder."""

    def recording(written: str) -> str:
        return str(folder / written) if is_plain_file(folder / written) else written

    def algorithm(written: str) -> str:
        reference = Reference.parse(written)
        return str(reference.beside(folder)) if reference else written

    return _replaced(tables, dict.fromkeys(_RECORDINGS, recording) | dict.fromkeys(_ALGORITHMS, algorithm))


def with_stored_recordings(tables: dict[str, Any], names: Mapping[str, str]) -> dict[str, Any]:
    """Replace the paths of recordings by those of their copies; `names` is of `recording_names`."""
    return _replaced(tables, dict.fromkeys(_RECORDINGS, lambda path: f"{RECORDINGS}/{names[path]}"))


def recording_names(tables: dict[str, Any]) -> dict[str, str]:
    """Return the paths of all recordings, each with a name that does not depend on where they are stored.

    It is the shortest end of the path that no other of them has, such as `lte.trace`.
    """
    paths: list[str] = []

    def collect(path: str) -> str:
        paths.append(path)
        return path

    _replaced(tables, dict.fromkeys(_RECORDINGS, collect))
    return _shortest_ends(paths)


def names_recording(key: str) -> bool:
    """Tell whether the values at a key, such as `path.elements.0.series`, are paths of recordings."""
    return _names(key) in _RECORDINGS


def _shortest_ends(paths: Iterable[str]) -> dict[str, str]:
    ends = {path: _ends(path) for path in paths}
    counts = Counter(end for of_file in {tuple(each) for each in ends.values()} for end in of_file)
    return {path: next(end for end in each if counts[end] == 1) for path, each in ends.items()}


def _ends(path: str) -> list[str]:
    """Return the ends of a file's full path, the shortest first."""
    parts = Path(os.path.abspath(path)).parts[1:]  # noqa: PTH100 (a link keeps its own name)
    return ["/".join(parts[-count:]) for count in range(1, len(parts) + 1)]


def _replaced(value: Any, changes: Mapping[_Key, Callable[[str], str]], key: _Key = ()) -> Any:
    """Return a copy with each text at one of the keys of `changes`, and each in a list there, changed."""
    if isinstance(value, dict):
        return {name: _replaced(each, changes, key + _names(name)) for name, each in value.items()}
    if isinstance(value, list):
        return [_replaced(each, changes, key) for each in value]
    return changes[key](value) if key in changes and isinstance(value, str) else value


def _names(dotted: str) -> _Key:
    """Return the names in a key, without positions in lists; a case has keys of the scenario."""
    return tuple(name for name in dotted.split(".") if not name.isdecimal() and name != "cases")
