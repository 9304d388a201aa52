"""QEMU as a machine in virtual time, for kernels that are not built by Tussle.

QEMU emulates every instruction, and each takes a nanosecond; while the guest idles, its clock advances to the
next timer at once. Nothing depends on the host's clock or random numbers. The guest has no disk: an initial
RAM file system contains all that it needs, and its results leave by the second serial port, as a tar archive.
"""

import hashlib
import io
import json
import os
import shutil
import subprocess
import tarfile
import tempfile
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Self

from tussle.errors import TussleError, argument
from tussle.kernel import DEFAULT_HZ
from tussle.kernel.agent import agent
from tussle.kernel.boot import ProcessorTime, boot
from tussle.kernel.distribution import DistributionKernel
from tussle.kernel.guest import MIXED, guest_facts, packets, refuse_failed, tools, which

_QEMU = "qemu-system-x86_64"
_PACKAGES = {_QEMU: "qemu-system-x86", "cpio": "cpio", "ip": "iproute2", "tc": "iproute2"}
_LEAST_MB = 512
_PROCESSOR_S = 300.0
_IDLE_S = 300.0
_PACKETS_PER_S = 500
"""Slowest rate, after the first while, of a guest that does not hang."""
_MOUNT_POINTS = ("proc", "sys", "dev", "run", "share")
_PARAMETERS = "console=ttyS0 quiet panic=-1 nokaslr mitigations=off random.trust_cpu=off results=/dev/ttyS1"
"""Parameters of the kernel. Linux passes `results`, which it does not know, to the agent."""


def refuse_missing_tools() -> None:
    """Raise TussleError, with the command that installs them, when programs are missing."""
    packages = sorted({package for tool, package in _PACKAGES.items() if not which(tool)})
    if packages:
        raise TussleError(
            f"{argument('machine', 'qemu')} needs {', '.join(packages)}: `apt-get install "
            f"{' '.join(packages)}`, or their names in your distribution"
        )


@dataclass(frozen=True)
class Emulated:
    """The machine for an unmodified kernel: an emulated processor."""

    kernel: DistributionKernel

    best_network = MIXED

    def check(self) -> None:
        """Raise TussleError when a program is missing, or the file is not a kernel."""
        refuse_missing_tools()
        self.kernel.needed_modules()

    def with_hz(self, hz: int) -> Self:
        """Return the machine; raises TussleError for ticks that a scenario chooses."""
        if hz != DEFAULT_HZ:
            raise TussleError(
                f"hosts.hz: {hz}; a distribution's kernel has its own tick; leave it out, or take a kernel "
                "that Tussle builds"
            )
        return self

    def facts(self) -> dict[str, str]:
        """Return the facts of the kernel and the machine for provenance."""
        chosen = {"machine": "qemu", "kernel": str(self.kernel.image), "modules": str(self.kernel.modules)}
        return {**chosen, **facts(self.kernel), **guest_facts()}

    def execute(self, run: Mapping[str, Any], parameters: Sequence[str], folder: Path) -> None:
        """Execute a run with its `kernel_parameters`; its tables are streams `NAME.arrow` in `folder`.

        Raises TussleError when the kernel cannot honour the run, fails or does not end.
        """
        packed = initramfs(agent(), self.kernel.needed_modules(), {"run.json": json.dumps(run).encode()})
        (folder / "initramfs").write_bytes(packed)
        limit = ProcessorTime(_PROCESSOR_S + packets(run) / _PACKETS_PER_S, _IDLE_S)
        booting = command(self.kernel.image, folder, parameters)
        # QEMU ends with its owner, like the guests of user mode.
        end = boot([str(agent()), "launch", *booting], folder / "output", limit)
        for name, content in results(folder).items():
            (folder / name).write_bytes(content)
        refuse_failed(folder, end)


def command(kernel: Path, folder: Path, parameters: Iterable[str]) -> list[str]:
    """Return the command that boots a kernel; it ends when the guest powers off, or panics.

    `folder` contains `initramfs`; the command writes `console` and `results` there. One of the kernel's
    `parameters` may be `mem=…M`, the memory that the guest needs.
    """
    others = [each for each in parameters if not each.startswith("mem=")]
    memory_mb = max([_LEAST_MB, *(int(each[4:-1]) for each in parameters if each.startswith("mem="))])
    return [
        *(which(_QEMU) or _QEMU, "-nodefaults", "-no-user-config", "-display", "none", "-no-reboot"),
        # One thread, one nanosecond per instruction, and skipped idle time: results do not depend on the
        # host. Recording makes the thread of devices wait, before it skips idle time, until the processor's
        # thread has counted its instructions. Without it, two of six runs on a busy host were off by a
        # microsecond.
        *("-accel", "tcg,thread=single", "-smp", "1", "-m", str(memory_mb)),
        *("-icount", "shift=0,sleep=off,rr=record,rrfile=/dev/null"),
        # A processor without random numbers, a clock that starts at a fixed date, and a seed for the rest.
        *("-cpu", "max,-rdrand,-rdseed", "-rtc", "base=2020-01-01,clock=vm", "-seed", "1"),
        *(
            "-kernel",
            str(kernel),
            "-initrd",
            str(folder / "initramfs"),
            "-append",
            " ".join([_PARAMETERS, *others]),
        ),
        *("-chardev", f"file,id=console,path={_escaped(folder / 'console')}", "-serial", "chardev:console"),
        *("-chardev", f"file,id=results,path={_escaped(folder / 'results')}", "-serial", "chardev:results"),
    ]


def facts(kernel: DistributionKernel) -> dict[str, str]:
    """Return the facts of the kernel and the machine for provenance; digests are SHA-256 in hexadecimal."""
    refuse_missing_tools()
    modules = hashlib.sha256()
    for name, content in kernel.needed_modules().items():
        modules.update(name.encode() + hashlib.sha256(content).digest())
    version = subprocess.run([_QEMU, "--version"], capture_output=True, text=True, check=True).stdout  # noqa: S603
    return {
        "release": kernel.release,
        "image_sha256": hashlib.sha256(kernel.image.read_bytes()).hexdigest(),
        "modules_sha256": modules.hexdigest(),
        "qemu": version.splitlines()[0],
    }


def initramfs(init: Path, modules: Mapping[str, bytes], share: Mapping[str, bytes]) -> bytes:
    """Return a root file system: the agent as `/init`, `ip` and `tc`, `/modules` in order, and `/share`."""
    refuse_missing_tools()
    with tempfile.TemporaryDirectory() as name:
        root = Path(name)
        for mount_point in _MOUNT_POINTS:
            (root / mount_point).mkdir()
        for place, file in {"init": init, **tools()}.items():
            (root / place).parent.mkdir(parents=True, exist_ok=True)
            shutil.copy(file, root / place)
        (root / "modules").mkdir()
        for index, (module, content) in enumerate(modules.items()):
            (root / "modules" / f"{index:04}-{module}").write_bytes(content)
        for file, content in share.items():
            (root / "share" / file).write_bytes(content)
        return _archived(root)


def results(folder: Path) -> dict[str, bytes]:
    """Return the files that the guest left in `/share`, by name; none if it failed earlier."""
    try:
        with tarfile.open(fileobj=io.BytesIO((folder / "results").read_bytes())) as archive:
            members = [(member, archive.extractfile(member)) for member in archive]
            return {Path(member.name).name: file.read() for member, file in members if file}
    except (OSError, tarfile.TarError, EOFError):
        return {}


def _archived(root: Path) -> bytes:
    """Pack a folder in Linux's format: newc of cpio. Equal files give equal bytes."""
    names = sorted(str(path.relative_to(root)) for path in root.rglob("*"))
    for name in names:
        (root / name).chmod(0o755)
        os.utime(root / name, (0, 0))
    packing = ["cpio", "--create", "--format=newc", "--owner=0:0", "--reproducible", "--null", "--quiet"]
    listed = "".join(f"{name}\0" for name in names).encode()
    return subprocess.run(packing, cwd=root, input=listed, stdout=subprocess.PIPE, check=True).stdout  # noqa: S603


def _escaped(path: Path) -> str:
    return str(path).replace(",", ",,")
