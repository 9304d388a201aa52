"""The interface of the simulator's checks of runs.

Scenarios call the checks through this interface, so that they do not depend on the simulator. Importing
`tussle` registers the simulator's checks.
"""

from collections.abc import Mapping
from typing import Any, Protocol


class RunChecks(Protocol):
    """Checks of a run that do not execute it."""

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise ValueError, worded `key: what`, when the run cannot be executed."""
        ...

    def random_parts(self, run: Mapping[str, Any]) -> list[str]:
        """Return the names of the elements and of the flows that use random numbers."""
        ...


_given: list[RunChecks] = []


def give_checks(checks: RunChecks) -> None:
    """Register the checks."""
    _given[:] = [checks]


def run_checks() -> RunChecks:
    """Return the registered checks."""
    (checks,) = _given
    return checks
