"""What works on this machine, and what each missing part needs."""

import os
import shutil
import subprocess
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from importlib.util import find_spec

import tussle
from tussle.engines import engine
from tussle.engines.kernel import check_kernel, one_second_of_reno
from tussle.errors import TussleError
from tussle.kernel import DEFAULT_NAME, built_kernel, kernel_names, make, qemu
from tussle.kernel.agent import agent
from tussle.kernel.debian import offered_packages
from tussle.studio import packed_module

_ROOT = 0


@dataclass(frozen=True)
class Finding:
    """A part of Tussle, and whether it works on this machine."""

    part: str
    works: bool
    about: str
    """The finding: a version, or the missing part and the remedy."""


def findings() -> Iterator[Finding]:
    """Yield each part of Tussle, and whether it works here. Kernels are booted, which takes a second each."""
    for part, check in (*_PARTS.items(), *_kernels()):
        try:
            yield Finding(part, works=True, about=check())
        except TussleError as error:
            yield Finding(part, works=False, about=str(error))


def _simulator() -> str:
    delivered = engine("sim").execute(one_second_of_reno())["flows"]["delivered_bytes"][0]
    return f"tussle {tussle.__version__}; one second at 100 Mbit/s carried {delivered / 1e6:.1f} MB"


def _agent() -> str:
    return f"{agent()}: the engines kernel, netns and hosts, `tussle serve` and `tussle send`"


def _studio() -> str:
    return f"the simulator in a page, {len(packed_module()) / 1e3:.0f} kB: `tussle studio`, and reports"


def _compiler() -> str:
    make.refuse_missing_tools()
    sources = offered_packages()
    found = ", ".join(sources) if sources else "no package linux-source-…; give a tree to --source"
    return f"the tools that compile a kernel; sources: {found}"


def _netns() -> str:
    agent()
    if os.geteuid() != _ROOT:
        raise TussleError("needs root: `sudo tussle …`; the engine kernel needs no root")
    if not shutil.which("unshare"):
        raise TussleError("there is no unshare; `apt-get install util-linux` installs it")
    # A container may be refused what root may do.
    tried = subprocess.run(["unshare", "--net", "true"], capture_output=True, text=True, check=False)  # noqa: S607
    if tried.returncode:
        raise TussleError(f"cannot make a network namespace here: {tried.stderr.strip()}")
    return "this user can make network namespaces"


def _qemu() -> str:
    agent()
    qemu.refuse_missing_tools()
    return "unmodified kernels on an emulated processor (--machine qemu)"


def _program(name: str, package: str, purpose: str) -> Callable[[], str]:
    def check() -> str:
        if found := shutil.which(name):
            return f"{found}: {purpose}"
        raise TussleError(f"there is no {name}, for {purpose}; `apt-get install {package}` installs it")

    return check


def _cluster() -> str:
    if find_spec("distributed") is None:
        raise TussleError("there is no Python package distributed, for sweeps on a Dask cluster (--cluster)")
    return "the Python package distributed: sweeps on a Dask cluster (--cluster)"


def _kernels() -> Iterator[tuple[str, Callable[[], str]]]:
    for name in kernel_names() or [DEFAULT_NAME]:
        yield f"kernel {name}", lambda name=name: _boots(name)


def _boots(name: str) -> str:
    kernel = built_kernel(name)
    facts = check_kernel(kernel)
    return f"{kernel.about}; boots, {facts['speed']}"


_PARTS: dict[str, Callable[[], str]] = {
    "simulator": _simulator,
    "studio": _studio,
    "agent": _agent,
    "kernel build": _compiler,
    "netns": _netns,
    "qemu": _qemu,
    "hosts": _program("ssh", "openssh-client", "the engine hosts"),
    "cluster": _cluster,
    "tshark": _program("tshark", "tshark", "reading `tussle export DIR packets`, also in tests"),
    "chromium": _program("chromium", "chromium", "tests of the report and of the studio in a browser"),
    "valgrind": _program("valgrind", "valgrind", "tests that count the simulator's instructions"),
}
