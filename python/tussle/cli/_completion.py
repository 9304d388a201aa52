"""Names that the shell completes: the entries of `tussle list`."""

from collections.abc import Callable


def names_of(kind: str) -> Callable[[str], list[str]]:
    """Return a function that completes the beginning of a name in a list, such as `profiles`."""

    def complete(incomplete: str) -> list[str]:
        return [name for name in _names(kind) if name.startswith(incomplete)]

    return complete


def algorithm_list(incomplete: str) -> list[str]:
    """Complete the last name of a list of algorithms and groups, with commas between."""
    before, comma, last = incomplete.rpartition(",")
    names = [*_names("algorithms"), *_names("groups")]
    return [f"{before}{comma}{name}" for name in names if name.startswith(last)]


def lists(incomplete: str) -> list[str]:
    """Complete the name of a list."""
    from tussle.cli.list_ import LISTS

    return [name for name in LISTS if name.startswith(incomplete)]


def _names(kind: str) -> list[str]:
    from tussle.cli.list_ import LISTS

    return [entry["name"] for entry in LISTS[kind]()[0]]
