"""TCP congestion control simulator and testbed: fairness, coexistence, bufferbloat, AQM and ECN/L4S.

    import tussle

    dataset = tussle.matrix(["reno", "cubic", "vegas"], profile="dsl")
    print(tussle.summary(dataset).answer)
    tussle.figure(dataset, "matrix").save("matrix.svg")

`tussle.run` and `tussle.matrix` make datasets, `tussle.open` opens one; the other functions take datasets.
"""

from __future__ import annotations

import os
from importlib import import_module
from typing import TYPE_CHECKING, Any

from tussle._core import version as _version
from tussle.displays import AnswerDisplay as _AnswerDisplay
from tussle.displays import give_display as _give_display
from tussle.errors import TussleError
from tussle.run_checks import give_checks as _give_checks
from tussle.simulator import SimulatorChecks as _SimulatorChecks

if TYPE_CHECKING:
    from tussle.algorithm import Algorithm
    from tussle.answers import Picture, Summary, differences, figure, metric, summary, write_report
    from tussle.dataset import Dataset
    from tussle.experiment import matrix, run
    from tussle.scenario import Scenario

__all__ = [
    "Algorithm",
    "Dataset",
    "Picture",
    "Scenario",
    "Summary",
    "TussleError",
    "__version__",
    "differences",
    "figure",
    "matrix",
    "metric",
    "open",
    "run",
    "summary",
    "write_report",
]

_give_checks(_SimulatorChecks())
_give_display(_AnswerDisplay())

__version__ = _version()

_LATER = {
    "Algorithm": "algorithm",
    "Dataset": "dataset",
    "Picture": "answers",
    "Scenario": "scenario",
    "Summary": "answers",
    "differences": "answers",
    "figure": "answers",
    "matrix": "experiment",
    "metric": "answers",
    "run": "experiment",
    "summary": "answers",
    "write_report": "answers",
}
"""The modules of names that are imported when they are used, so that `import tussle` takes no time."""


def open(folder: str | os.PathLike[str]) -> Dataset:  # noqa: A001 (`tussle.open` is to a dataset what `open` is to a file)
    """Open the folder that `tussle run` or `tussle matrix` wrote, and check that its tables are complete.

    Raises `tussle.TussleError` when it is missing, cut short, changed, or from a newer version.
    """
    from tussle.dataset import Dataset, verify

    verify(folder)
    return Dataset.open(folder)


def __getattr__(name: str) -> Any:
    if name not in _LATER:
        raise AttributeError(f"module 'tussle' has no attribute {name!r}")
    found = getattr(import_module(f"tussle.{_LATER[name]}"), name)
    globals()[name] = found
    return found


def __dir__() -> list[str]:
    return sorted({*globals(), *__all__})
