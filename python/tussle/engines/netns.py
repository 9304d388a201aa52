"""Linux itself in real time: the kernel of this host, over private network namespaces."""

import hashlib
import json
import os
import platform
import subprocess
import tempfile
import time
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

import tussle
from tussle.dataset import ENGINE_TABLES, OPTIONAL_TABLES
from tussle.engines._sockets import refuse_own, refuse_ticks
from tussle.errors import TussleError
from tussle.kernel.agent import agent
from tussle.kernel.boot import boot
from tussle.kernel.guest import AUTO, MIXED, datapath

_TIMEOUT_S = 60.0
"""Time for building the network, and for draining it."""
_ROOT = 0


@dataclass(frozen=True)
class NamespacesEngine:
    """This host's kernel in real time, over namespaces, veth, tbf, netem and TUN (crates/tussle-agent)."""

    network: str = AUTO
    """Datapath, one of NETWORKS."""

    name = "netns"
    max_parallel_runs = 1

    @property
    def datapath(self) -> str:
        """The datapath that is asked for: never `auto`. Raises TussleError for the driver of guests."""
        return datapath(self.network, MIXED)

    def about(self) -> Mapping[str, str]:
        """Return name and version, the datapath, the host, its kernel and CPUs, and the agent's digest."""
        return {
            "name": self.name,
            "version": tussle.__version__,
            "network": self.datapath,
            "host": platform.node(),
            "host_kernel": platform.release(),
            "cpus": str(os.cpu_count()),
            "agent_sha256": hashlib.sha256(agent().read_bytes()).hexdigest(),
        }

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when this host cannot honour any part of `run`, or the user is not root."""
        refuse_own(run)
        refuse_ticks(run, "this host's kernel")
        if not hasattr(os, "geteuid") or os.geteuid() != _ROOT:
            raise TussleError(
                "the engine netns makes network namespaces, which needs root: sudo tussle …; the engine "
                "kernel needs no root"
            )
        self._network(run)

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Execute the run in real time; raises TussleError when it cannot be honoured, or fails."""
        network = self._network(run)
        with tempfile.TemporaryDirectory(prefix="tussle-") as name:
            folder = Path(name)
            (folder / "run.json").write_text(json.dumps(run), "utf-8")
            last_s = time.monotonic() + run["duration_ns"] / 1e9 + _TIMEOUT_S

            def expired(_: int) -> str | None:
                return "did not end" if time.monotonic() > last_s else None

            end = boot([str(agent()), "netns", network], folder / "output", expired)
            if end != 0:
                output = (folder / "output").read_text("utf-8", errors="replace").strip()
                ended = end if isinstance(end, str) else f"ended with status {end}"
                raise TussleError(output or f"the agent {ended}, without output")
            tables = ENGINE_TABLES | OPTIONAL_TABLES
            return {table: pl.read_ipc_stream(folder / f"{table}.arrow") for table in tables}

    def close(self) -> None:
        """Do nothing: nothing is open between runs."""

    def _network(self, run: Mapping[str, Any]) -> str:
        """Return the datapath for the run on this host; raises TussleError with what it cannot honour."""
        command = [agent(), "netns", "check", self.datapath]
        checked = subprocess.run(command, input=json.dumps(run), capture_output=True, text=True)  # noqa: PLW1510, S603 (its status is looked at)
        if checked.returncode:
            raise TussleError(checked.stderr.strip())
        return checked.stdout.strip()


ENGINE = NamespacesEngine()
