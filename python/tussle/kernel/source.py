"""Sources of a kernel, tarballs and folders, and their files."""

import hashlib
import os
import re
import stat
import subprocess
import tarfile
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path, PurePosixPath
from typing import Protocol

from tussle.errors import TussleError

_PRODUCTS = [".config", "include/config", "include/generated"]
"""Products of a build in its folder; the kernel's own makefile looks for the same."""
_ARCHITECTURES = ("um", "x86")
_UNUSED = {
    "": ("Documentation", "sound"),
    "drivers": ("gpu", "infiniband", "media", "scsi", "staging", "usb"),
    "drivers/net": ("ethernet", "wireless"),
    "tools": ("perf", "testing"),
}
"""The largest folders of which user-mode Linux compiles nothing, by the folder that they are in."""


@dataclass(frozen=True)
class SourceFile:
    """A file, or a symbolic link whose target is the content."""

    path: str
    mode: int
    """Type and permissions as in git: 0o100644, 0o100755 or 0o120000."""
    content: bytes

    @property
    def digest(self) -> str:
        """SHA-256 of mode and content, in hexadecimal."""
        return hashlib.sha256(b"%o " % self.mode + self.content).hexdigest()


class Source(Protocol):
    """A kernel tree to be built."""

    @property
    def name(self) -> str:
        """Name of the source in provenance."""
        ...

    @property
    def short_name(self) -> str:
        """Default name of its kernel."""
        ...

    def digest(self) -> str:
        """SHA-256, in hexadecimal, of the tarball or of the state of the folder."""
        ...

    def files(self, report: Callable[[float], None]) -> Iterator[SourceFile]:
        """Yield every file that a build may read; `report` receives the fraction read."""
        ...


def is_used(path: str) -> bool:
    """Return whether a build may read a file of a source: two thirds of Linux are for other hardware.

    Of that, only what configures the build is used.

    >>> is_used("net/ipv4/tcp.c"), is_used("arch/arm64/kernel/head.S"), is_used("drivers/gpu/drm/Kconfig")
    (True, False, True)
    """
    *folders, name = path.split("/")
    if name.startswith(("Kconfig", "Makefile", "Kbuild")):
        return True
    if folders[:1] == ["arch"] and len(folders) > 1 and folders[1] not in _ARCHITECTURES:
        return False
    return not any(
        folder in _UNUSED.get("/".join(folders[:depth]), ()) for depth, folder in enumerate(folders)
    )


def kernel_name(package: str) -> str:
    """Return the name of the kernel of a Debian package.

    >>> kernel_name("linux-source-6.12")
    'linux-6.12'
    """
    return package.replace("linux-source-", "linux-")


class Tarball:
    """A packed kernel tree, as Debian and kernel.org publish it."""

    def __init__(self, path: Path, name: str) -> None:
        self.path = path
        self.name = name
        self.short_name = kernel_name(re.sub(r"\.(tar(\..*)?|t[gx]z)$", "", path.name))

    def digest(self) -> str:
        """SHA-256 of the tarball."""
        with self.path.open("rb") as file:
            return hashlib.file_digest(file, "sha256").hexdigest()

    def files(self, report: Callable[[float], None]) -> Iterator[SourceFile]:
        """Unpack in memory, file by file."""
        size = self.path.stat().st_size
        try:
            with self.path.open("rb") as packed, tarfile.open(fileobj=packed) as archive:
                for member in archive:
                    report(packed.tell() / size)
                    if file := _unpacked(archive, member):
                        yield file
        except (tarfile.TarError, EOFError, OSError) as error:
            raise TussleError(f"{self.path} cannot be unpacked ({error}); fetch it again") from error


def _mode(rights: int) -> int:
    return 0o100755 if rights & stat.S_IXUSR else 0o100644


def _unpacked(archive: tarfile.TarFile, member: tarfile.TarInfo) -> SourceFile | None:
    """Return a file that a build may read, without the top folder."""
    path = PurePosixPath(member.name)
    inner = PurePosixPath(*path.parts[1:])
    if path.is_absolute() or ".." in path.parts:
        raise TussleError(
            f"{archive.name} is not a kernel's source: it has the path {member.name}, outside of the archive"
        )
    if not is_used(str(inner)):
        return None
    if member.issym():
        return SourceFile(str(inner), 0o120000, os.fsencode(member.linkname))
    if not member.isreg():
        return None
    content = archive.extractfile(member)
    return SourceFile(str(inner), _mode(member.mode), content.read()) if content else None


class Folder:
    """A kernel tree that the user works on. It is only read."""

    def __init__(self, path: Path) -> None:
        self.path = path.resolve()
        self.name = str(self.path)
        self.short_name = self.path.name
        missing = [name for name in ("Makefile", "Kconfig", "arch") if not (self.path / name).exists()]
        if missing:
            raise TussleError(
                f"--source {path} is not a kernel tree: it has no {missing[0]}; give the folder that holds "
                "Linux's Makefile"
            )

    def digest(self) -> str:
        """SHA-256 of all files in the folder that a build may read."""
        total = hashlib.sha256()
        for file in self.files(lambda _: None):
            total.update(f"{file.path}\0{file.digest}\n".encode())
        return total.hexdigest()

    def files(self, report: Callable[[float], None]) -> Iterator[SourceFile]:
        """Read the files, sorted by path."""
        paths = list(filter(is_used, self._tracked() if (self.path / ".git").exists() else self._all()))
        for count, path in enumerate(paths):
            report(count / len(paths))
            file = self.path / path
            try:
                mode = file.lstat().st_mode
                if stat.S_ISLNK(mode):
                    yield SourceFile(path, 0o120000, os.fsencode(file.readlink()))
                elif stat.S_ISREG(mode):
                    yield SourceFile(path, _mode(mode), file.read_bytes())
            except FileNotFoundError:
                continue  # git still knows it, the user has removed it

    def _tracked(self) -> list[str]:
        """Return the paths that git tracks, and new ones that it does not ignore: no products of builds."""
        command = [
            "git",
            "-C",
            str(self.path),
            "ls-files",
            "-z",
            "--cached",
            "--others",
            "--exclude-standard",
        ]
        try:
            listed = subprocess.run(command, capture_output=True, check=True).stdout  # noqa: S603
        except FileNotFoundError as error:
            raise TussleError(f"{self.path} is a git repository, but git is not installed") from error
        except subprocess.CalledProcessError as error:
            problem = error.stderr.decode(errors="replace").strip()
            raise TussleError(f"git cannot list {self.path}: {problem}") from error
        return sorted({os.fsdecode(path) for path in listed.split(b"\0") if path})

    def _all(self) -> list[str]:
        """Return every path of a folder in which nothing was built."""
        built = [name for name in _PRODUCTS if (self.path / name).exists()]
        if built:
            raise TussleError(
                f"{self.path} contains products of a build ({built[0]}), which cannot be distinguished from "
                "sources without git; run `make mrproper` in it, or in a copy of it"
            )
        found = (Path(top, name) for top, _, names in os.walk(self.path) for name in names)
        links = (Path(top, name) for top, names, _ in os.walk(self.path) for name in names)
        paths = [*found, *(link for link in links if link.is_symlink())]
        return sorted(str(path.relative_to(self.path)) for path in paths)


def given_source(path: Path) -> Source:
    """Return the folder or the tarball that the user gave; raises TussleError when it is neither."""
    if path.is_dir():
        return Folder(path)
    if not path.exists():
        raise TussleError(
            f"--source {path} does not exist; give a folder with Linux's source, a tarball, or the name of a "
            "Debian package such as linux-source-6.12"
        )
    if not tarfile.is_tarfile(path):
        raise TussleError(f"--source {path} is neither a folder nor a tarball; give Linux's source")
    return Tarball(path.resolve(), path.name)
