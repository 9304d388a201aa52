"""The error that users see, and helpers for its messages."""

import difflib
import json
from collections.abc import Iterable, Iterator
from contextlib import contextmanager
from unicodedata import category

_SHOWN_CHARACTERS = 60
_LONGEST_PLAIN_NAME = 64


class TussleError(Exception):
    """An error that the user can correct. The message says what is wrong, where, and what to do next.

    The command line prints the message to stderr as `tussle: …` and exits with status 2. The message for a
    file with several problems has one line for each.
    """

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details
        """Text above the message: a traceback of a user's own code, or the end of a log; may be empty."""


class _Front:
    """The readers of the messages: users of the command line, or of Python."""

    has_options = False


@contextmanager
def naming_options() -> Iterator[None]:
    """Name arguments as options of the command line in messages, as long as the context lasts."""
    before, _Front.has_options = _Front.has_options, True
    try:
        yield
    finally:
        _Front.has_options = before


def argument(name: str, value: object = None, option: str = "") -> str:
    """Name an argument, with a value if one is given: as in Python, or as the option of the command line.

    `option` is the name of the option if it is another one.

    >>> argument("order"), argument("engine", "kernel")
    ('order', 'engine="kernel"')
    >>> with naming_options():
    ...     argument("order"), argument("engine", "kernel"), argument("axis", option="along")
    ('--order', '--engine kernel', '--along')
    """
    if _Front.has_options:
        return f"--{option or name}" if value is None else f"--{option or name} {value}"
    # The end of a path says more than its beginning.
    return name if value is None else f"{name}={_on_one_line(value)}"


def setting(key: str, value: str) -> str:
    """Name a setting of a scenario with its value, as an argument.

    >>> setting("record.events", "on")
    'settings={"record.events": "on"}'
    """
    if _Front.has_options:
        return f"--set {key}={shown(value) if ' ' in value else value}"
    return f"settings={{{shown(key)}: {shown(value)}}}"


def expect(name: str, value: object, kinds: type | tuple[type, ...], words: str) -> None:
    """Raise TussleError when the value of an argument is none of these kinds; `words` say what it should be.

    >>> expect("output", 3, str, 'a folder, like "results"')
    Traceback (most recent call last):
    tussle.errors.TussleError: output: 3 is not a folder, like "results"
    """
    if not isinstance(value, kinds):
        raise TussleError(f"{argument(name)}: {shown(value)} is not {words}")


def plural(count: int, noun: str) -> str:
    """Format a number of things.

    >>> plural(1, "run"), plural(2, "run")
    ('1 run', '2 runs')
    """
    return f"{count} {noun}" if count == 1 else f"{count} {noun}s"


def listed(items: Iterable[str]) -> str:
    """Join items in words: commas between them, and "and" before the last one.

    >>> listed(["6", "7", "5"]), listed(["6"])
    ('6, 7 and 5', '6')
    """
    *others, last = items
    return f"{', '.join(others)} and {last}" if others else last


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that is most similar to `name`; `None` if none is similar."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    return by_lower_case[found[0]] if found else None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the message for an unknown name, with the most similar known name, else with all of them.

    >>> unknown("algorithm", "cubik", ["reno", "cubic"])
    'unknown algorithm "cubik"; did you mean "cubic"?'
    >>> unknown("queue", "xyz", ["fifo"])
    'unknown queue "xyz"; there is fifo'
    """
    known = list(known)
    best = nearest(name, known)
    hint = (
        f'did you mean "{best}"?'
        if best
        else f"there {'is' if len(known) == 1 else 'are'} {', '.join(known)}"
    )
    return f"unknown {what} {shown(name)}; {hint}"


def printable(text: str) -> str:
    r"""Escape a text from outside for a terminal: everything but printable characters, spaces and newlines.

    >>> printable("full\x1b[2J\ntry later")
    'full\\x1b[2J\ntry later'
    """
    # Python does not count spaces without a break as printable.
    return "".join(
        character if character == "\n" or category(character) == "Zs" else _escaped(character)
        for character in text
    )


def _escaped(character: str) -> str:
    return character if character.isprintable() else repr(character)[1:-1]


def shown(value: object) -> str:
    r"""Format a value for an error message: on one line, printable, and shortened if it is long.

    >>> shown("a\nb"), shown(True), shown(1.5)
    ('"a\\nb"', 'true', '1.5')
    """
    text = _on_one_line(value)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def _on_one_line(value: object) -> str:
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        # Integers of thousands of digits, lists that contain themselves, keys that are not text.
        return "a value that cannot be shown"
    return "".join(_escaped(character) for character in text)


def plain(text: str) -> str:
    r"""Format a name for an error message: quoted if it is long or not printable.

    >>> plain("path.rate"), plain("a\nb")
    ('path.rate', '"a\\nb"')
    """
    return text if text.isprintable() and len(text) <= _LONGEST_PLAIN_NAME else shown(text)
