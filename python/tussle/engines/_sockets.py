"""Limits of engines with real sockets."""

from collections.abc import Mapping
from typing import Any

from tussle.errors import TussleError
from tussle.host_profiles import DEFAULT_PROFILE, host_profiles
from tussle.kernel import DEFAULT_HZ
from tussle.own_algorithms import is_own


def refuse_own(run: Mapping[str, Any]) -> None:
    """Raise TussleError when an algorithm of the run is the user's own: kernels run no Python."""
    for index, flow in enumerate(run["flows"]):
        if is_own(flow["algorithm"]):
            raise TussleError(
                f"flows.{index}.algorithm: {flow['algorithm']} is written in Python, for the simulator; "
                "give an algorithm of the kernel"
            )


def refuse_settings(run: Mapping[str, Any], engine: str) -> None:
    """Raise TussleError when a host of the run has other settings than a default host."""
    for where, host in hosts_of(run):
        if different := [
            key for key, value in host.items() if value != host_profiles()[DEFAULT_PROFILE].values.get(key)
        ]:
            key = different[0].removesuffix("_ms")
            raise TussleError(
                f"{where}.{key}: the engine {engine} leaves the settings of its machines as they are; "
                "leave it out"
            )


def refuse_ticks(run: Mapping[str, Any], kernel: str) -> None:
    """Raise TussleError when a run chooses the tick of a kernel that has its own; `kernel` names that."""
    for where, host in hosts_of(run):
        if (hz := host.get("hz", DEFAULT_HZ)) != DEFAULT_HZ:
            raise TussleError(
                f"{where}.hz: {hz}; {kernel} has its own tick; leave it out, or take a kernel that "
                "Tussle builds"
            )


def hosts_of(run: Mapping[str, Any]) -> list[tuple[str, Mapping[str, Any]]]:
    """Return the settings of the hosts of a run, each with its key."""
    own = [
        (f"flows.{index}.{end}", flow[end])
        for index, flow in enumerate(run["flows"])
        for end in ("sender", "receiver")
        if end in flow
    ]
    return [("hosts", run["hosts"]), *own] if "hosts" in run else own
