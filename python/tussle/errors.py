"""The one error that users see, and the phrases its sentences share."""

import difflib
import json
from collections.abc import Iterable

_SHOWN_CHARACTERS = 60
_LONGEST_PLAIN_NAME = 64


class TussleError(Exception):
    """Something that the user can put right: the message is the whole sentence (what, where, what next).

    The command line prints it to stderr as `tussle: …` and exits with status 2. A file with several
    problems gives one line for each.
    """

    def __init__(self, sentence: str, details: str = "") -> None:
        super().__init__(sentence)
        self.details = details
        """What stands above the sentence, if anything: the traceback of a user's own code."""


def nearest(name: str, known: Iterable[str]) -> str | None:
    """Return the known name that `name` most looks like, if any looks like it at all."""
    by_lower_case = {candidate.lower(): candidate for candidate in known}
    found = difflib.get_close_matches(name.lower(), by_lower_case, n=1, cutoff=0.5)
    return by_lower_case[found[0]] if found else None


def unknown(what: str, name: str, known: Iterable[str]) -> str:
    """Return the sentence for a name that does not exist: the nearest one, else all of them.

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
    r"""Return a text of others as a terminal may show it: all but printable characters and new lines escaped.

    >>> printable("full\x1b[2J\ntry later")
    'full\\x1b[2J\ntry later'
    """
    return "".join(c if c.isprintable() or c == "\n" else repr(c)[1:-1] for c in text)


def shown(value: object) -> str:
    r"""Return a value as an error message quotes it: on one line, printable everywhere, cut when long.

    >>> shown("a\nb"), shown(True), shown(1.5)
    ('"a\\nb"', 'true', '1.5')
    """
    try:
        text = json.dumps(value, default=str, ensure_ascii=False)
    except (ValueError, TypeError, RecursionError):
        # Whole numbers of thousands of digits, lists that hold themselves, keys that are not text.
        return "a value that cannot be shown"
    text = printable(text)
    return text if len(text) <= _SHOWN_CHARACTERS else f"{text[:_SHOWN_CHARACTERS]}…"


def plain(text: str) -> str:
    r"""Return a name as a sentence shows it: quoted if it would not fit on a line of plain text.

    >>> plain("path.rate"), plain("a\nb")
    ('path.rate', '"a\\nb"')
    """
    return text if text.isprintable() and len(text) <= _LONGEST_PLAIN_NAME else shown(text)
