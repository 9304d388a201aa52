"""The questions of a scenario to a simulator. A scenario knows the questions, and not who answers them.

`tussle` gives the answers of the simulator when it is imported.
"""

from collections.abc import Mapping
from typing import Any, Protocol


class RunChecks(Protocol):
    """Answers about a run, without executing it."""

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise ValueError, worded `key: what`, when the run cannot be executed."""
        ...

    def random_parts(self, run: Mapping[str, Any]) -> list[str]:
        """Return the names of the elements and of the flows that use random numbers."""
        ...


_given: list[RunChecks] = []


def give_checks(checks: RunChecks) -> None:
    """Let these answer from now on."""
    _given[:] = [checks]


def run_checks() -> RunChecks:
    """Return who answers."""
    (checks,) = _given
    return checks
