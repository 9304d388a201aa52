"""TCP congestion control simulator and testbed: fairness, coexistence, bufferbloat, AQM and ECN/L4S."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from tussle._core import version as _version
from tussle.run_checks import give_checks as _give_checks
from tussle.simulator import SimulatorChecks as _SimulatorChecks

if TYPE_CHECKING:
    from tussle.dataset import Dataset

_give_checks(_SimulatorChecks())

__version__ = _version()


def open(folder: str | os.PathLike[str]) -> Dataset:  # noqa: A001 (`tussle.open` is to a dataset what `open` is to a file)
    """Open the folder that `tussle run` or `tussle matrix` wrote, and check that its tables are complete.

    Raises `tussle.errors.TussleError` when it is missing, cut short, changed, or from a newer version.
    """
    from tussle.dataset import Dataset, verify

    verify(folder)
    return Dataset.open(folder)
