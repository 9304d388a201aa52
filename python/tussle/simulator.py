"""The simulator's checks of a run. The engine `tussle.engines.sim` executes runs."""

import json
from collections.abc import Mapping
from typing import Any

from tussle import _core


class SimulatorChecks:
    """The checks for `tussle.run_checks`; Reno replaces algorithms in Python files."""

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise ValueError, worded `key: what`, when the simulator refuses the run."""
        _core.check(json.dumps(_with_reno_for_own(run)))

    def random_parts(self, run: Mapping[str, Any]) -> list[str]:
        """Return the names of the elements and of the flows that use random numbers."""
        return _core.random_parts(json.dumps(_with_reno_for_own(run)))


def _with_reno_for_own(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return a run without algorithms in Python files, which the simulator cannot check without executing."""
    from tussle.own_algorithms import is_own

    flows = [
        {**flow, "algorithm": "reno", "parameters": {}} if is_own(flow["algorithm"]) else flow
        for flow in run["flows"]
    ]
    return {**run, "flows": flows}
