"""An unmodified kernel of a distribution: its release, and its modules with their dependencies."""

import gzip
import lzma
import re
import struct
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path

from tussle.errors import TussleError, argument

_MAGIC_OFFSET = 0x202
_RELEASE_POINTER_OFFSET = 0x20E
_SETUP_SECTOR_BYTES = 0x200
_LONGEST_RELEASE_BYTES = 128

_MODULE = re.compile(r"(.+)\.ko(\.\w+)?")
_UNPACK = {"": bytes, ".gz": gzip.decompress, ".xz": lzma.decompress}
_DEVICE_MODULES = {"veth", "tun", "cls_bpf"}
"""Modules of the devices, and of the classifier that drops packets."""
_EXTENSIONS = [("net/ipv4", "tcp_"), ("net/sched", "sch_")]
"""Folders of algorithms and queue disciplines, and prefixes of their names."""


@dataclass(frozen=True)
class DistributionKernel:
    """A compressed kernel image for x86 (`vmlinuz`), and the folder of its modules."""

    image: Path
    modules: Path
    """`/lib/modules/RELEASE`, or a folder that contains it."""

    @cached_property
    def release(self) -> str:
        """Release, as in `uname`; raises TussleError when the file is not a kernel image.

        Source: Linux's Documentation/x86/boot.rst, the fields `header` and `kernel_version`.
        """
        try:
            head = self.image.read_bytes()[: 1 << 16]
        except OSError as error:
            raise TussleError(
                f"{argument('kernel', self.image)} cannot be read ({error.strerror})"
            ) from error
        if head[_MAGIC_OFFSET : _MAGIC_OFFSET + 4] != b"HdrS":
            raise TussleError(
                f"{argument('kernel', self.image)} is not a kernel for x86; give a file such as "
                "/boot/vmlinuz-…"
            )
        (pointer,) = struct.unpack_from("<H", head, _RELEASE_POINTER_OFFSET)
        start = pointer + _SETUP_SECTOR_BYTES
        return head[start : start + _LONGEST_RELEASE_BYTES].split(b" ")[0].decode(errors="replace")

    def needed_modules(self) -> dict[str, bytes]:
        """Modules of algorithms, queue disciplines and devices by name, each after its dependencies.

        Functions built into the kernel have no module. Raises TussleError when the modules belong to another
        kernel.
        """
        files = self._files()
        loaded: dict[str, bytes] = {}
        for name in sorted(name for name, file in files.items() if _is_needed(name, file)):
            self._load(name, files, loaded)
        return loaded

    def _files(self) -> dict[str, Path]:
        folders = [self.modules, *self.modules.glob(f"**/{self.release}")]
        folder = next((each for each in folders if each.name == self.release and each.is_dir()), None)
        if folder is None:
            raise TussleError(
                f"{argument('modules', self.modules)} holds no folder {self.release}, the modules of "
                f"{self.image}; give one such as /lib/modules/{self.release}"
            )
        found = ((match, file) for file in folder.rglob("*.ko*") if (match := _MODULE.fullmatch(file.name)))
        return {match[1].replace("-", "_"): file for match, file in found}

    def _load(self, name: str, files: Mapping[str, Path], loaded: dict[str, bytes]) -> None:
        if name in loaded:
            return
        content = _unpacked(files[name])
        for needed in _depends(content):
            if needed in files:
                self._load(needed, files, loaded)
        loaded[name] = content


def _is_needed(name: str, file: Path) -> bool:
    folder = file.parent.as_posix()
    return name in _DEVICE_MODULES or any(
        folder.endswith(place) and name.startswith(start) for place, start in _EXTENSIONS
    )


def _depends(module: bytes) -> list[str]:
    """Names of the modules that a module depends on, from its section `.modinfo`."""
    found = re.search(rb"\0depends=([^\0]*)\0", module)
    names = found[1].decode().split(",") if found else []
    return [name.replace("-", "_") for name in names if name]


def _unpacked(file: Path) -> bytes:
    unpack = _UNPACK.get("" if file.suffix == ".ko" else file.suffix)
    if unpack is None:
        raise TussleError(
            f"{file} has a compression that Tussle cannot read; unpack the modules into another folder "
            "(`zstd -d`), and give that folder"
        )
    return unpack(file.read_bytes())
