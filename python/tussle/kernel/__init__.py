"""Kernels for the kernel engine: Linux built as a program (user-mode Linux) whose clock jumps over idle time.

`tussle kernel build` puts each into a folder of the cache: the program, its configuration, and `kernel.json`,
which says what it was made from.
"""

import hashlib
import json
import os
import re
import shutil
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

import platformdirs

from tussle.errors import TussleError, unknown

USUAL_NAME = "linux-6.1"
"""The kernel built from Debian's package, which runs unless another one is named."""

USUAL_HZ = 250
"""Ticks a second of Debian's kernels."""

IMAGE = "linux"
CONFIGURATION = "config"
FACTS = "kernel.json"


@dataclass(frozen=True)
class Kernel:
    """A user-mode kernel and where it comes from."""

    image: Path
    """The program."""
    facts: Mapping[str, str]
    """`release` (of `uname`), `hz`, `source` (package and version, or folder), `source_sha256`,
    `recipe_sha256` (of our part of the configuration), `config_sha256`, `image_sha256`, `compiler`, `lacks`
    (options of kernel/config-wanted that the source does not have)."""

    @property
    def name(self) -> str:
        """Name under which it was built, for `--kernel`."""
        return self.image.parent.name

    @property
    def about(self) -> str:
        """Release, ticks a second and source, in a line."""
        return f"Linux {self.facts['release']}, {self.facts['hz']} Hz, from {self.facts['source']}"


def cache_folder() -> Path:
    """Return where kernels are built and kept: below $TUSSLE_CACHE, else in the user's cache."""
    chosen = os.environ.get("TUSSLE_CACHE")
    return (Path(chosen).absolute() if chosen else platformdirs.user_cache_path("tussle")) / "kernel"


def folder_of(name: str) -> Path:
    """Return where the kernel of that name is kept, once it is built."""
    return cache_folder() / "built" / name


def kernel_names() -> list[str]:
    """Names of the kernels that are built, sorted."""
    return sorted(file.parent.name for file in folder_of("").glob(f"*/{FACTS}"))


def remove_kernel(name: str) -> None:
    """Remove a kernel from the cache; raises TussleError when there is none of that name."""
    if name not in kernel_names():
        raise TussleError(unknown("kernel", name, kernel_names()) if kernel_names() else "no kernel is built")
    shutil.rmtree(folder_of(name))


def built_kernel(name: str | None = None) -> Kernel:
    """Return a kernel that is built: `name`, else $TUSSLE_KERNEL, else the usual one.

    Raises TussleError when it is not built, or not what its build left.
    """
    name = name or os.environ.get("TUSSLE_KERNEL") or USUAL_NAME
    built = kernel_names()
    if not built:
        raise TussleError("no kernel is built yet; `tussle kernel build` makes one (about 3 minutes)")
    if name not in built:
        raise TussleError(f"{unknown('kernel', name, built)}; `tussle kernel build` makes others")
    image = folder_of(name) / IMAGE
    try:
        facts = json.loads((folder_of(name) / FACTS).read_text("utf-8"))
        if facts["image_sha256"] == hashlib.sha256(image.read_bytes()).hexdigest():
            return Kernel(image, facts)
    except (OSError, ValueError, LookupError, TypeError):
        pass
    raise TussleError(f"kernel {image.parent} is damaged; remove that folder and build it again")


def qdiscs(kernel: Kernel) -> list[str]:
    """Names of the queue disciplines that a kernel was built with, sorted."""
    options = (kernel.image.parent / CONFIGURATION).read_text("utf-8")
    return sorted(
        {"pfifo", "bfifo", *map(str.lower, re.findall(r"^CONFIG_NET_SCH_(\w+)=y$", options, re.MULTILINE))}
        - {"fifo"}
    )
