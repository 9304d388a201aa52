"""Limits of engines with real sockets."""

from collections.abc import Mapping
from typing import Any

from tussle.errors import TussleError
from tussle.own_algorithms import is_own


def refuse_own(run: Mapping[str, Any]) -> None:
    """Raise TussleError when an algorithm of the run is the user's own: kernels run no Python."""
    for index, flow in enumerate(run["flows"]):
        if is_own(flow["algorithm"]):
            raise TussleError(
                f"flows.{index}.algorithm: {flow['algorithm']} is written in Python, for the simulator; "
                "give an algorithm of the kernel"
            )
