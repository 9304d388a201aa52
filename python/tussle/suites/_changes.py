"""The verdicts that differ between two runs of a suite."""

from __future__ import annotations

from typing import Literal

from pydantic import BaseModel, ConfigDict

import tussle
from tussle.errors import TussleError
from tussle.suites._result import SuiteResult

_DESCRIBED = ConfigDict(use_attribute_docstrings=True, extra="forbid", frozen=True)


class Change(BaseModel):
    """A criterion whose verdict differs."""

    model_config = _DESCRIBED
    section: str
    """Section of the document."""
    name: str
    """Short name of the criterion."""
    before: str
    """Verdict of the first run; "-" if it lacks the criterion."""
    after: str
    """Verdict of the second run; "-" if it lacks the criterion."""
    why: str
    """The decisive case of the second run, or of the first if only that has the criterion."""


class ChangesDocument(BaseModel):
    """The output of `tussle compare --json` for two results of a suite."""

    model_config = _DESCRIBED
    format: Literal["tussle changes 1"] = "tussle changes 1"
    """Name and version of the format."""
    tussle: str
    """The version of Tussle."""
    suite: str
    """Name of the suite."""
    first: str
    """The algorithm of the first run, with its parameters."""
    second: str
    """The algorithm of the second run, with its parameters."""
    changes: list[Change]
    """The criteria whose verdicts differ, in the order of the document."""


def changes_document(first: SuiteResult, second: SuiteResult) -> ChangesDocument:
    """Return the document of two runs; raises TussleError when they are not comparable."""
    return ChangesDocument(
        tussle=tussle.__version__,
        suite=first.suite,
        first=first.algorithm,
        second=second.algorithm,
        changes=changes(first, second),
    )


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
        found.append(
            Change(
                section=shown.section,
                name=name,
                before=old.verdict if old else "-",
                after=new.verdict if new else "-",
                why=shown.why,
            )
        )
    return found
