"""The real Linux TCP stack, in virtual time: one guest per run."""

import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from functools import cache
from pathlib import Path
from typing import Any, Protocol

import polars as pl

import tussle
from tussle.dataset import ENGINE_TABLES
from tussle.engines._sockets import refuse_own
from tussle.errors import TussleError
from tussle.kernel import DEFAULT_HZ, Kernel, algorithms, built_kernel, kernel_folder, qdiscs
from tussle.kernel.guest import AUTO, UserMode, datapath, kernel_parameters
from tussle.kernel.host import confinement, state_sizes

_MS = 1_000_000
_S = 1000 * _MS


class Machine(Protocol):
    """A machine for kernels, in virtual time."""

    @property
    def best_network(self) -> str:
        """The datapath of `--network auto`."""
        ...

    def check(self) -> None:
        """Raise TussleError when the kernel, or a program that it needs, is missing."""
        ...

    def with_hz(self, hz: int) -> "Machine":
        """Return this machine with a kernel of `hz` ticks per second; raises TussleError if there is none."""
        ...

    def facts(self) -> Mapping[str, str]:
        """Return the facts for provenance that decide results."""
        ...

    def execute(self, run: Mapping[str, Any], parameters: Sequence[str], folder: Path) -> None:
        """Execute a run with its `kernel_parameters`, and leave its tables in `folder`, as `NAME.arrow`."""
        ...


@dataclass(frozen=True)
class KernelEngine:
    """Linux itself in virtual time (crates/tussle-agent)."""

    machine: Machine = field(default_factory=UserMode)
    network: str = AUTO
    """Datapath, one of NETWORKS."""

    name = "kernel"
    max_parallel_runs = None

    @property
    def datapath(self) -> str:
        """The datapath that is used: never `auto`. Raises TussleError if the machine cannot have it."""
        return datapath(self.network, self.machine.best_network)

    def about(self) -> Mapping[str, str]:
        """Return name and version, the datapath, the kernel with its digests, and the guest's programs."""
        return {
            "name": self.name,
            "version": tussle.__version__,
            "network": self.datapath,
            **self.machine.facts(),
        }

    def check(self, run: Mapping[str, Any]) -> None:
        """Raise TussleError when Linux cannot honour any part of `run`, or there is no kernel."""
        refuse_own(run)
        machine = self._machine(run)
        machine.check()
        kernel_parameters(run, self.datapath)
        if isinstance(machine, UserMode):
            _refuse_missing_algorithms(kernel_folder(machine.name), run)

    def execute(self, run: Mapping[str, Any]) -> dict[str, pl.DataFrame]:
        """Boot a guest for the run; raises TussleError when it cannot be honoured, or the guest fails."""
        with tempfile.TemporaryDirectory(prefix="tussle-") as folder:
            self._machine(run).execute(run, kernel_parameters(run, self.datapath), Path(folder))
            return {name: pl.read_ipc_stream(Path(folder) / f"{name}.arrow") for name in ENGINE_TABLES}

    def _machine(self, run: Mapping[str, Any]) -> Machine:
        """Return the machine with the tick of the run's hosts; raises TussleError if there is none."""
        return self.machine.with_hz(run.get("hosts", {}).get("hz", DEFAULT_HZ))

    def close(self) -> None:
        """Do nothing: nothing is open between runs."""


def _refuse_missing_algorithms(kernel: Path, run: Mapping[str, Any]) -> None:
    """Raise TussleError if the kernel lacks an algorithm: before any run, since others may take hours."""
    for index, flow in enumerate(run["flows"]):
        name = flow["algorithm"]
        if name not in _configured(kernel) and name not in (known := _available(kernel)):
            raise TussleError(
                f"flows.{index}.algorithm: kernel {kernel.name} has no congestion control called {name}; "
                f"it has {', '.join(known)}"
            )


@cache
def _configured(kernel: Path) -> set[str]:
    return algorithms(built_kernel(kernel.name))


@cache
def _available(kernel: Path) -> list[str]:
    """Boot a kernel, and return its algorithms, sorted."""
    return check_kernel(built_kernel(kernel.name))["algorithms"].split()


def check_kernel(kernel: Kernel) -> dict[str, str]:
    """Boot a kernel and run one flow for a second: its release, algorithms and queues, and its speed."""
    run = one_second_of_reno()
    with tempfile.TemporaryDirectory(prefix="tussle-") as share:
        began = time.perf_counter()
        UserMode(kernel.name).execute(run, kernel_parameters(run, UserMode.best_network), Path(share))
        took_s = time.perf_counter() - began
        [goodput] = pl.read_ipc_stream(Path(share) / "flows.arrow")["goodput_bit_per_s"]
        facts = {name: (Path(share) / name).read_text("utf-8").strip() for name in ("release", "algorithms")}
        state = state_sizes(kernel, (Path(share) / "output").read_text("utf-8", errors="replace"))
    return {
        "release": facts["release"],
        "ticks a second": kernel.facts["hz"],
        "algorithms": " ".join(sorted(facts["algorithms"].split())),
        "queues": " ".join(qdiscs(kernel)),
        "goodput": f"{goodput / 1e6:.1f} Mbit/s of 100 Mbit/s, reno, in the second half of a second",
        "floating-point state": state,
        "confinement": confinement(),
        "speed": f"{run['duration_ns'] / _S / took_s:.1f} times real time, with the boot",
    }


def one_second_of_reno() -> dict[str, Any]:
    """Return a run of one second, a Reno flow at 100 Mbit/s, that shows whether an engine works."""
    queue = {"kind": "fifo", "limit_packets": 100}
    link = {"kind": "link", "rate_bit_per_s": 100_000_000, "delay_ns": 5 * _MS, "queue": queue}
    flow = {"name": "flow", "algorithm": "reno", "start_ns": 0, "mss_bytes": 1448}
    return {
        "format": 1,
        "profile": "linux-6.1",
        "seed": 1,
        "duration_ns": _S,
        "steady": {"from_ns": _S // 2, "to_ns": _S},
        "record": {"sampling": "off", "events": False},
        "elements": [{"name": "forward", **link}, {"name": "reverse", **link}],
        "flows": [{**flow, "forward": ["forward"], "reverse": ["reverse"]}],
    }


ENGINE = KernelEngine()
