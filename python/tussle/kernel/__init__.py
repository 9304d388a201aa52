"""Kernels for the kernel engine: Linux built as a program (user-mode Linux) whose clock skips idle time.

`tussle kernel build` keeps each kernel in a folder of the cache: the program, its configuration, and
`kernel.json` with its origin.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path

from tussle.cache import cache_root
from tussle.errors import TussleError, unknown

DEFAULT_NAME = "linux-6.1"
"""Name of the default kernel, which is built from Debian's package."""

DEFAULT_HZ = 250
"""Timer ticks per second of Debian's kernels."""

_OTHER_NAMES = {"hstcp": "highspeed"}
"""Names of congestion controls by the names of their options, where the two differ."""

IMAGE = "linux"
CONFIGURATION = "config"
FACTS = "kernel.json"


@dataclass(frozen=True)
class Kernel:
    """A user-mode kernel and its origin."""

    image: Path
    """The program."""
    facts: Mapping[str, str]
    """`release` (of `uname`), `hz`, `source` (package and version, or folder), `source_sha256`,
    `recipe_sha256` (of Tussle's part of the configuration), `config_sha256`, `image_sha256`, `compiler`,
    `lacks` (options of kernel/config-wanted that the source does not have).
    """

    @property
    def name(self) -> str:
        """Name of the kernel, for `--kernel`."""
        return self.image.parent.name

    @property
    def about(self) -> str:
        """Release, ticks per second and source, in a line."""
        return f"Linux {self.facts['release']}, {self.facts['hz']} Hz, from {self.facts['source']}"


def cache_folder() -> Path:
    """Return the folder of kernels in the cache."""
    return cache_root() / "kernel"


def folder_of(name: str) -> Path:
    """Return the folder of a built kernel."""
    return cache_folder() / "built" / name


def kernel_folder(name: str | None) -> Path:
    """Return the folder of the kernel `name`, else of $TUSSLE_KERNEL, else of the default one."""
    return folder_of(name or os.environ.get("TUSSLE_KERNEL") or DEFAULT_NAME)


def name_with_hz(name: str, hz: int) -> str:
    """Return the name of a kernel that differs from the one called `name` by its ticks per second."""
    return name if hz == DEFAULT_HZ else f"{name}-{hz}hz"


def kernel_names() -> list[str]:
    """Names of the built kernels, sorted."""
    return sorted(file.parent.name for file in folder_of("").glob(f"*/{FACTS}"))


def remove_kernel(name: str) -> None:
    """Remove a kernel from the cache; raises TussleError for an unknown name."""
    if name not in kernel_names():
        raise TussleError(unknown("kernel", name, kernel_names()) if kernel_names() else "no kernel is built")
    shutil.rmtree(folder_of(name))


def built_kernel(name: str | None = None) -> Kernel:
    """Return a built kernel: `name`, else $TUSSLE_KERNEL, else the default one.

    Raises TussleError when it is not built, or was changed since.
    """
    name = kernel_folder(name).name
    built = kernel_names()
    if not built:
        raise TussleError("no kernel is built yet; `tussle kernel build` makes one (about 3 minutes)")
    if name not in built:
        raise TussleError(f"{unknown('kernel', name, built)}; `tussle kernel build` makes others")
    image = folder_of(name) / IMAGE
    try:
        facts = json.loads((folder_of(name) / FACTS).read_text("utf-8"))
        if facts["image_sha256"] == _digest(image, image.stat().st_mtime_ns):
            return Kernel(image, facts)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    raise TussleError(f"kernel {image.parent} is damaged; remove that folder and build it again")


@cache
def _digest(image: Path, _changed_ns: int) -> str:
    """Return the digest of an image that was changed at that time. A sweep asks for it before each run."""
    return hashlib.sha256(image.read_bytes()).hexdigest()


def algorithms(kernel: Kernel) -> set[str]:
    """Names of a kernel's congestion controls, by its configuration. A patch may give others other names."""
    options = (kernel.image.parent / CONFIGURATION).read_text("utf-8")
    named: set[str] = {
        name.lower() for name in re.findall(r"^CONFIG_TCP_CONG_(\w+)=y$", options, re.MULTILINE)
    }
    return {_OTHER_NAMES.get(name, name) for name in named - {"advanced"}} | {"reno"}


def qdiscs(kernel: Kernel) -> list[str]:
    """Names of a kernel's queue disciplines, sorted."""
    options = (kernel.image.parent / CONFIGURATION).read_text("utf-8")
    return sorted(
        {"pfifo", "bfifo", *map(str.lower, re.findall(r"^CONFIG_NET_SCH_(\w+)=y$", options, re.MULTILINE))}
        - {"fifo"}
    )
