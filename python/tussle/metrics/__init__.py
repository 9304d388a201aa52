"""Metrics: pure functions from the tables of a dataset to a table.

Each metric is a file of this folder that defines `METRIC`; the registry is found from the files.
"""

from __future__ import annotations

import pkgutil
from importlib import import_module

from tussle.metrics._metric import Metric, Tables
from tussle.metrics._pairs import axis_columns, pair_runs, pairs, side_means, sides
from tussle.metrics._selection import representative_runs, select_runs
from tussle.metrics._summary import summarise
from tussle.registry import Registry

__all__ = [
    "REGISTRY",
    "Metric",
    "Tables",
    "axis_columns",
    "pair_runs",
    "pairs",
    "representative_runs",
    "select_runs",
    "side_means",
    "sides",
    "summarise",
]


def _find() -> dict[str, Metric]:
    names = sorted(
        module.name for module in pkgutil.iter_modules(__path__) if not module.name.startswith("_")
    )
    found = [import_module(f"{__name__}.{name}").METRIC for name in names]
    return {metric.name: metric for metric in found}


REGISTRY: Registry[Metric] = Registry("metric", _find())
"""Every metric by name."""
