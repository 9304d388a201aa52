"""The packet-level simulator, in this process."""

import functools
import hashlib
import json
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any

import polars as pl

from tussle import _core
from tussle.errors import TussleError
from tussle.own_algorithms import load, process_must_live, user_traceback

MAX_PACKETS = 3_000_000
"""Largest number of packets in one capture, at both ends together, and of rows in the log of a queue: half a
gigabyte of memory, or a minute of 100 Mbit/s.
"""


class SimEngine:
    """The packet-level simulator (crates/tussle-core)."""

    name = "sim"
    max_parallel_runs = None

    def about(self) -> Mapping[str, str]:
        """Return name, version and build, which distinguishes changes between versions."""
        return {"name": self.name, "version": _core.version(), "build": _build()}

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when the simulator cannot honour any part of `run`."""
        try:
            with process_must_live():
                _core.check(json.dumps(run), load(run))
        except ValueError as error:
            raise TussleError(str(error)) from error

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Simulate a run; raises TussleError when the simulator cannot honour any part of it.

        The error also covers failures of users' own algorithms; their costs are the table `costs`.
        """
        return _tables(run, _core.execute)

    def close(self) -> None:
        """Do nothing: nothing is open between runs."""

    def capture(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Simulate a run and capture every packet at its hosts: the tables of `execute`, and `packets`.

        Raises what `execute` does, and TussleError when there are more than `MAX_PACKETS`.
        """
        return _tables(run, lambda run_json, own: _core.capture(run_json, MAX_PACKETS, own))

    def log_queue(self, run: Mapping[str, Any], link: str) -> dict[str, pl.DataFrame]:
        """Simulate a run and log every packet at the queue of a link: the tables of `execute`, and `queue`.

        Raises what `execute` does, and TussleError when the log has more than `MAX_PACKETS` rows.
        """
        return _tables(run, lambda run_json, own: _core.log_queue(run_json, link, MAX_PACKETS, own))


def _tables(run: Mapping[str, Any], simulate: Callable[..., dict[str, Any]]) -> dict[str, pl.DataFrame]:
    try:
        with process_must_live():
            tables = simulate(json.dumps(run), load(run))
    except _core.HookError as error:
        cause = error.__cause__
        raise TussleError(str(error), user_traceback(cause) if cause else "") from error
    except ValueError as error:
        raise TussleError(str(error)) from error
    return {name: pl.DataFrame(table) for name, table in tables.items()}


@functools.cache
def _build() -> str:
    return hashlib.sha256(Path(_core.__file__).read_bytes()).hexdigest()[:16]


ENGINE = SimEngine()
