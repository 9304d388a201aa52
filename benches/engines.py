"""The engines that are compared: how each is found, built and called."""

from __future__ import annotations

import functools
import importlib.util
import json
import shutil
import subprocess
import sys
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from cases import Case
from measure import Job

HERE = Path(__file__).resolve().parent
ROOT = HERE.parent
BUILD = ROOT / "build" / "benches"
NS3_HEADER = Path("/usr/include/ns3/core-module.h")
NS3_LIBRARIES = ("applications", "point-to-point", "traffic-control", "internet", "network", "core")


class MissingError(Exception):
    """The engine is not installed or built; the message says what to do."""


@dataclass(frozen=True)
class Engine:
    """One row of the table.

    `find` returns the first words of the command, or raises `MissingError`; `duration_s` is the simulated
    time of a case, shorter than the case's own where the engine is slow.
    """

    name: str
    find: Callable[[], list[str]]
    job: Callable[[list[str], Case], Job]
    duration_s: Callable[[Case], float] = lambda case: case.duration_s
    most_flows: int = 1000
    """Cases with more flows are skipped: a run would take about an hour."""


def find_core() -> list[str]:
    """Build the release example that calls the simulator, and return its path."""
    return [build_example("bench")]


@functools.cache
def build_example(name: str) -> str:
    """Build one of the simulator's examples with `--release`, once per process, and return its path."""
    if shutil.which("cargo") is None:
        raise MissingError("not built: needs Rust, https://rustup.rs")
    command = ["cargo", "build", "--quiet", "--release", "--package", "tussle-core", "--example", name]
    built = subprocess.run(  # noqa: S603 - the command is ours
        [*command, "--message-format=json"], cwd=ROOT, capture_output=True, text=True, check=False
    )
    if built.returncode != 0:
        raise MissingError(f"does not build: {' '.join(command)}")
    messages = [json.loads(line) for line in built.stdout.splitlines() if line.startswith("{")]
    return next(m["executable"] for m in reversed(messages) if m.get("executable"))


def find_python() -> list[str]:
    """Return the script that calls the simulator through the Python package."""
    if importlib.util.find_spec("tussle") is None or importlib.util.find_spec("tussle._core") is None:
        raise MissingError("not built: make setup")
    return [sys.executable, str(HERE / "execute.py")]


def find_wheel() -> list[str]:
    """Return the same script with the package of a wheel that `make wheel` built, which is unpacked."""
    built = sorted((ROOT / "dist").glob("tussle-*.whl"))
    if not built:
        raise MissingError("not built: make wheel")
    folder = BUILD / "wheel"
    shutil.rmtree(folder, ignore_errors=True)
    shutil.unpack_archive(built[-1], folder, "zip")
    return ["env", f"PYTHONPATH={folder}", *find_python()]


def find_ns2() -> list[str]:
    """Return the ns-2 interpreter with our script."""
    ns = shutil.which("ns")
    if ns is None:
        raise MissingError("not installed: apt-get install ns2")
    return [ns, str(HERE / "peers" / "ns2_cubic.tcl")]


def find_ns3() -> list[str]:
    """Compile our ns-3 program with the system's compiler, unless it is up to date, and return its path."""
    compiler = shutil.which("g++")
    if compiler is None or not NS3_HEADER.exists():
        raise MissingError("not installed: apt-get install g++ libns3-dev")
    source = HERE / "peers" / "ns3_cubic.cc"
    program = BUILD / "ns3_cubic"
    if program.exists() and program.stat().st_mtime > source.stat().st_mtime:
        return [str(program)]
    BUILD.mkdir(parents=True, exist_ok=True)
    libraries = [f"-lns3-{name}" for name in NS3_LIBRARIES]
    command = [compiler, "-std=c++17", "-O2", "-o", str(program), str(source), *libraries]
    log = BUILD / "ns3_cubic.log"
    with log.open("w") as errors:
        compiled = subprocess.run(command, stderr=errors, check=False)  # noqa: S603 - the command is ours
    if compiled.returncode != 0:
        raise MissingError(f"does not compile: see {log.relative_to(ROOT)}")
    return [str(program)]


def _job_from_stdin(command: list[str], case: Case) -> Job:
    return Job(command, case.run_json())


def _job_from_arguments(command: list[str], case: Case) -> Job:
    return Job([*command, *case.peer_arguments()])


def _ns3_duration_s(case: Case) -> float:
    """Return what ns-3, at 10 to 30 thousand packets/s, simulates in about 30 s of processor time."""
    return 20.0 if case.flows == 1 else 4.0


TUSSLE = Engine("tussle", find_core, _job_from_stdin)
PYTHON = Engine("tussle, from Python", find_python, _job_from_stdin)
ENGINES = (
    TUSSLE,
    PYTHON,
    Engine("tussle, from a wheel", find_wheel, _job_from_stdin),
    Engine("ns-2 TCP/Linux", find_ns2, _job_from_arguments),
    Engine("ns-3", find_ns3, _job_from_arguments, _ns3_duration_s, most_flows=50),
)
