"""Registries: things by name, whose errors name the nearest name."""

from collections.abc import Iterable
from typing import Generic, TypeVar

from tussle.errors import TussleError, unknown

Entry = TypeVar("Entry")


class Registry(dict[str, Entry], Generic[Entry]):
    """Things by name, in their order; an unknown name raises TussleError with the nearest name.

    >>> Registry("queue", {"fifo": 1, "codel": 2})["fifo_codel"]
    Traceback (most recent call last):
    tussle.errors.TussleError: unknown queue "fifo_codel"; did you mean "codel"?
    """

    def __init__(self, what: str, entries: dict[str, Entry]) -> None:
        super().__init__(entries)
        self.what = what
        """Name of one entry in errors, such as "metric"."""

    def __missing__(self, name: object) -> Entry:
        raise TussleError(unknown(self.what, str(name), self))

    def __repr__(self) -> str:
        return f"<Registry of {len(self)}, each a {self.what}: {_in_short(self)}>"

    def _repr_html_(self) -> str:
        from tussle.html import table

        return table(["name", "about"], [[name, _about(each)] for name, each in self.items()])


_ABOUT = ("definition", "shows", "about", "idea")
_SHOWN = 6


def _in_short(names: Iterable[str]) -> str:
    names = list(names)
    more = [f"and {len(names) - _SHOWN} more"] if len(names) > _SHOWN else []
    return ", ".join([*names[:_SHOWN], *more])


def _about(entry: object) -> str:
    found = (entry.get(key) if isinstance(entry, dict) else getattr(entry, key, None) for key in _ABOUT)
    return str(next(filter(None, found), entry))
