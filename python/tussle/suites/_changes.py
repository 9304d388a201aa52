"""The verdicts that differ between two runs of a suite."""

from __future__ import annotations

from typing import NamedTuple

from tussle.errors import TussleError
from tussle.suites._result import SuiteResult


class Change(NamedTuple):
    """A criterion whose verdict differs."""

    section: str
    name: str
    before: str
    """Verdict of the first run; "-" if it lacks the criterion."""
    after: str
    why: str
    """The decisive case of the second run, or of the first if only that has the criterion."""


def changes(first: SuiteResult, second: SuiteResult) -> list[Change]:
    """Return the criteria whose verdicts differ, in the order of the document.

    Raises TussleError when the two runs are not comparable.
    """
    for what in ("suite", "size", "queue"):
        a, b = getattr(first, what), getattr(second, what)
        if a != b:
            raise TussleError(f"the results differ in their {what} ({a}, {b}); compare two runs of the same")
    before = {each.name: each for each in first.criteria}
    after = {each.name: each for each in second.criteria}
    found = []
    for name in dict.fromkeys((*before, *after)):
        old, new = before.get(name), after.get(name)
        shown = new or old
        if shown is None or (old and new and old.verdict == new.verdict):
            continue
        before_after = (old.verdict if old else "-", new.verdict if new else "-")
        found.append(Change(shown.section, name, *before_after, shown.why))
    return found
