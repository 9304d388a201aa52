"""The driver in the kernel of a guest: its files in a kernel's source.

Its part in C is in kernel/driver. The path that packets cross is in Rust (crates/tussle-driver); the package
contains it as an object file.
"""

import hashlib
from dataclasses import dataclass
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.agent import agent
from tussle.kernel.source import SourceFile

DRIVER = Path(__file__).parent.parent / "_driver.o"

_SOURCES = Path(__file__).parent / "recipe" / "driver"
_FOLDER = "drivers/net/tussle"
_MAKEFILE = "obj-y += tussle.o path.o\n"
_FILE = 0o100644

FACT = "driver_sha256"
"""The fact of a kernel with the driver's digest."""

PATCH = "driver"
"""The patch by which a kernel's makefile descends into the driver's folder."""


@dataclass(frozen=True)
class Driver:
    """The files of the driver."""

    contents: tuple[tuple[str, bytes], ...]
    """Path in the kernel's source, and content."""

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of all files."""
        total = hashlib.sha256()
        for path, content in self.contents:
            total.update(f"{path}\0{hashlib.sha256(content).hexdigest()}\n".encode())
        return total.hexdigest()

    def files(self) -> list[SourceFile]:
        """Return the files."""
        return [SourceFile(path, _FILE, content) for path, content in self.contents]


def driver() -> Driver:
    """Return the driver; raises TussleError when this installation lacks it."""
    if not DRIVER.exists():
        agent()
        raise TussleError(
            f"there is no {DRIVER}: this Tussle was installed without its driver; `make setup` builds it"
        )
    sources = ((file.name, file.read_bytes()) for file in sorted(_SOURCES.glob("tussle.[ch]")))
    # kbuild copies an object file that is called _shipped.
    made = [*sources, ("path.o_shipped", DRIVER.read_bytes()), ("Makefile", _MAKEFILE.encode())]
    return Driver(tuple((f"{_FOLDER}/{name}", content) for name, content in made))
