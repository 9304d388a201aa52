"""Guests: a kernel that executes one run of a scenario, with the agent as its only program."""

import hashlib
import json
import re
import shutil
import subprocess
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cache
from pathlib import Path
from typing import Any, Self

from filelock import FileLock

from tussle.errors import TussleError, argument
from tussle.kernel import DEFAULT_HZ, Kernel, built_kernel, cache_folder, kernel_names, name_with_hz
from tussle.kernel.agent import agent
from tussle.kernel.boot import ProcessorTime, boot
from tussle.kernel.driver import FACT, driver
from tussle.kernel.host import refuse_host, refuse_lost_state
from tussle.kernel.processors import one_processor

NETWORKS = ("auto", "driver", "mixed", "qdisc", "tun")
"""Datapaths of `--network`: the best of the machine; the simulator's elements inside the guest's kernel;
Linux's queue disciplines where it has them, and the simulator's elements between TUN devices otherwise; queue
disciplines only; elements between TUN devices only.
"""

AUTO, DRIVER, MIXED, *_ = NETWORKS

_TOOLS = ("ip", "tc")
"""Programs of iproute2 that the agent calls in the guest."""

_FOLDERS = ("dev", "proc", "sys", "run", "share", "tmp")
"""Mount points in the guest."""

_ROOT = "root"
"""The link to the guest's programs, in the folder of a run."""

_BOOT = (
    # The command line seeds the kernel's random numbers, so it must not name a folder: the guest uses
    # the folder that it is started in. Linux after 6.12 takes absolute paths only.
    "hostfs=/proc/self/cwd",
    f"rootflags={_ROOT}",
    "share=.",
    "uml_dir=.",
    "umid=guest",
    "time-travel=inf-cpu",
    "time-travel-start=1000000000",  # all runs begin at one time of day
    "root=hostfs",
    "rootfstype=hostfs",
    "init=/init",
    "rw",
    "con=null",
    "panic=-1",
)
_CONSOLE_OFF = "con0=null"
"""No console: its output returns as an interrupt, at a time that the host decides."""
_CONSOLE_ON = ("con0=fd:0,fd:1", "loglevel=7")

_MEMORY = Path("/dev/shm")  # noqa: S108 (where Linux itself would put it)
_RESULTS_BYTES = 1 << 20
"""Disk space below which results may be missing."""
_PROCESSOR_S = 120.0
_PACKETS_PER_S = 5_000
"""Slowest rate, after the first while, of a guest that does not hang, in a second of processor time."""
_IDLE_S = 120.0
"""Wall time that a guest may take without computing."""
_CONSOLE_S = 60.0
_CONSOLE_LINES = 15
_PACKET_BITS = 12_000
_SCRIPTS_MEMORY = "mem=512M"


@dataclass(frozen=True)
class UserMode:
    """The machine for kernels built by Tussle: its guest is a process."""

    name: str | None = None
    """Name of the kernel; `None`: $TUSSLE_KERNEL, else the default one."""

    best_network = DRIVER

    def check(self) -> None:
        """Raise TussleError when the kernel is not built, cannot run here, or a program is missing."""
        kernel = built_kernel(self.name)
        refuse_host(kernel)
        refuse_other_driver(kernel)
        _root()

    def with_hz(self, hz: int) -> Self:
        """Return the machine with this kernel, or its sibling that has `hz` ticks per second.

        Raises TussleError when that is not built.
        """
        kernel = built_kernel(self.name)
        its_hz = int(kernel.facts["hz"])
        if its_hz == hz:
            return self
        if its_hz != DEFAULT_HZ:
            raise TussleError(
                f"hosts.hz: {hz}; kernel {kernel.name} has {its_hz} ticks per second; give {its_hz}"
            )
        name = name_with_hz(kernel.name, hz)
        if name not in kernel_names():
            raise TussleError(
                f"hosts.hz: {hz}; kernel {kernel.name} has {its_hz} ticks per second, and {name} is not "
                f"built: `tussle kernel build --hz {hz}`, with its --source"
            )
        return replace(self, name=name)

    def facts(self) -> dict[str, str]:
        """Return the facts of the kernel, its siblings with other ticks, and the guest for provenance."""
        kernel = built_kernel(self.name)
        siblings = [name for name in kernel_names() if re.fullmatch(rf"{re.escape(kernel.name)}-\d+hz", name)]
        digests = {f"{name}_image_sha256": built_kernel(name).facts["image_sha256"] for name in siblings}
        return {"kernel": kernel.name, **kernel.facts, **digests, **guest_facts()}

    def execute(self, run: Mapping[str, Any], parameters: Sequence[str], folder: Path) -> None:
        """Execute a run with its `kernel_parameters`; its tables are Arrow streams `NAME.arrow` in `folder`.

        Raises TussleError when the kernel cannot honour the run, fails or does not end.
        """
        processor_s = _PROCESSOR_S + packets(run) / _PACKETS_PER_S
        self._run_task(_Task("run.json", json.dumps(run), parameters, processor_s), folder)

    def play(self, scripts: Mapping[str, Mapping[str, Any]]) -> dict[str, dict[str, str]]:
        """Play packet scripts in one guest, and return their verdicts by name.

        Raises TussleError when a script is invalid, or the guest fails.
        """
        task = _Task("scripts.json", json.dumps(scripts), [_SCRIPTS_MEMORY], _PROCESSOR_S)
        with tempfile.TemporaryDirectory(prefix="tussle-") as folder:
            self._run_task(task, Path(folder))
            return json.loads((Path(folder) / "verdicts.json").read_text("utf-8"))

    def _run_task(self, task: "_Task", folder: Path) -> None:
        kernel = built_kernel(self.name)
        refuse_host(kernel)
        task.prepare(folder)
        place = _memory_folder(folder, task.parameters)
        # The memory has a folder of its own, since a guest can write to it.
        with (
            tempfile.TemporaryDirectory(prefix="tussle-memory-", dir=place) as memory,
            one_processor() as processor,
        ):
            launch = ["env", f"TMPDIR={memory}", str(agent()), "launch", "--confined", str(kernel.image)]
            command = [*launch, *_BOOT, *task.parameters]
            limit = ProcessorTime(task.processor_s, _IDLE_S)
            end = boot([*command, _CONSOLE_OFF], folder / "output", limit, processor)
            if not (folder / "done").exists() and not (folder / "error").exists():
                # The run is reproducible to the byte, so that the console can be recorded afterwards.
                again = folder / "again"
                again.mkdir()
                task.prepare(again)
                limit = ProcessorTime(min(task.processor_s, _CONSOLE_S), _CONSOLE_S)
                boot([*command, *_CONSOLE_ON], again / "output", limit, processor)
                (again / "output").rename(folder / "console")
        refuse_failed(folder, end)


@dataclass(frozen=True)
class _Task:
    """The task of a guest."""

    file: str
    text: str
    parameters: Sequence[str]
    """Parameters of the kernel."""
    processor_s: float
    """Processor time that the guest may take."""

    def prepare(self, folder: Path) -> None:
        (folder / self.file).write_text(self.text, "utf-8")
        (folder / _ROOT).symlink_to(_root())


def datapath(network: str, best: str) -> str:
    """Return the datapath that a word of NETWORKS means on a machine whose best one is `best`.

    Raises TussleError for the driver on a kernel that cannot have it.
    """
    if network == DRIVER and best != DRIVER:
        raise TussleError(
            f"{argument('network', network)}: only kernels that Tussle built have the driver; give mixed, "
            "qdisc or tun"
        )
    return best if network == AUTO else network


def refuse_other_driver(kernel: Kernel) -> None:
    """Raise TussleError when a kernel was built with the driver of another version, or with none."""
    if kernel.facts.get(FACT) != driver().digest():
        raise TussleError(
            f"kernel {kernel.name} was built by another version of Tussle; build it again: "
            "`tussle kernel build`, with its --source and --name"
        )


def refuse_failed(folder: Path, end: int | str) -> None:
    """Raise TussleError, with the output of the guest, unless the guest wrote all its results.

    `end` is its status, or the reason why it was stopped.
    """
    if (folder / "error").exists():
        raise TussleError((folder / "error").read_text("utf-8").strip())
    if (folder / "done").exists():
        return
    if shutil.disk_usage(folder).free < _RESULTS_BYTES:
        raise TussleError(f"{folder.parent} is full: make room there, or set TMPDIR to another folder")
    ended = end if isinstance(end, str) else f"ended with status {end}"
    files = [folder / name for name in ("console", "output") if (folder / name).exists()]
    outputs = [file.read_text("utf-8", errors="replace") for file in files]
    refuse_lost_state("".join(outputs))
    raise TussleError(
        f"the guest {ended} before its results were complete; its last console lines are above",
        _last_lines(next((text for text in outputs if text.strip()), "")),
    )


def _memory_folder(folder: Path, parameters: Iterable[str]) -> Path:
    """Return the folder for the file of the guest's memory: without space, a kernel fails silently."""
    needed = max(int(each[4:-1]) << 20 for each in parameters if each.startswith("mem="))
    for place in (_MEMORY, folder):
        if place.is_dir() and shutil.disk_usage(place).free > needed:
            return place
    raise TussleError(
        f"a guest of this run needs {needed >> 20} MB, free neither in {_MEMORY} nor in {folder.parent}: "
        "make room, or set TMPDIR to another folder"
    )


def kernel_parameters(run: Mapping[str, Any], network: str) -> list[str]:
    """Return the parameters of the kernel; raises TussleError with what it cannot honour of the run.

    `network` is one of NETWORKS.
    """
    command = [agent(), "check", network]
    checked = subprocess.run(command, input=json.dumps(run), capture_output=True, text=True)  # noqa: PLW1510, S603 (its status is looked at)
    if checked.returncode:
        raise TussleError(checked.stderr.strip())
    return checked.stdout.split()


def guest_facts() -> dict[str, str]:
    """Return facts of a guest that decide results: the agent's digest, iproute2's version."""
    version = subprocess.run([_tool("tc"), "-V"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    found = re.search(r"iproute2-([^,\s]+)", version)
    return {
        "agent_sha256": hashlib.sha256(agent().read_bytes()).hexdigest(),
        "iproute2": found.group(1) if found else version.strip(),
    }


def _last_lines(console: str) -> str:
    """Return the last lines of a kernel's console: from its panic on, if there was one."""
    lines = console.strip().splitlines()
    panics = [number for number, line in enumerate(lines) if "Kernel panic" in line]
    first = panics[0] if panics else max(0, len(lines) - _CONSOLE_LINES)
    return "\n".join(lines[first : first + _CONSOLE_LINES])


def packets(run: Mapping[str, Any]) -> float:
    """Return the approximate number of packets that the links of a run can carry."""
    rates = [
        max(
            [
                element["rate_bit_per_s"],
                *(change.get("rate_bit_per_s") or 0 for change in element.get("changes", ())),
            ]
        )
        for element in run["elements"]
        if "rate_bit_per_s" in element
    ]
    return sum(rates) * run["duration_ns"] / 1e9 / _PACKET_BITS


def which(program: str) -> str | None:
    """Return the path of a program, also outside the PATH of users."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin")


def tools() -> dict[str, Path]:
    """Return `ip`, `tc` and their libraries, by their path in the guest."""
    files: dict[str, Path] = {}
    for name in _TOOLS:
        program = _tool(name)
        files[f"bin/{name}"] = Path(program).resolve()
        files |= {str(library).lstrip("/"): library for library in _libraries(program)}
    return files


def _tool(name: str) -> str:
    found = which(name)
    if not found:
        raise TussleError(f"the kernel engine needs `{name}`; `apt-get install iproute2` installs it")
    return found


@cache
def _root() -> Path:
    """Return the folder of the guest's programs, made anew when they have changed."""
    files = {"init": agent(), **tools()}
    digest = hashlib.sha256()
    for place, file in sorted(files.items()):
        digest.update(f"{place}\0{hashlib.sha256(file.read_bytes()).hexdigest()}\0".encode())
    root = cache_folder() / f"guest-{digest.hexdigest()[:16]}"
    root.parent.mkdir(parents=True, exist_ok=True)
    with FileLock(root.with_suffix(".lock")):
        if not root.exists():
            _fill(root, files)
    return root


def _fill(root: Path, files: Mapping[str, Path]) -> None:
    with tempfile.TemporaryDirectory(dir=root.parent) as work:
        made = Path(work) / "root"
        for folder in _FOLDERS:
            (made / folder).mkdir(parents=True)
        # Programs open it before anything is mounted.
        (made / "dev" / "null").touch()
        for place, file in files.items():
            (made / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, made / place)
        made.rename(root)


def _libraries(program: str) -> list[Path]:
    """Return the libraries of a program."""
    listed = subprocess.run(["ldd", program], capture_output=True, text=True, check=True).stdout  # noqa: S603, S607
    return [Path(path) for path in re.findall(r"(/\S+)", listed)]
