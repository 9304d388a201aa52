"""Debian's kernel sources: an installed package, else the package downloaded without installation."""

import re
import shutil
import subprocess
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.source import Tarball, kernel_name

DEFAULT_PACKAGE = "linux-source-6.1"
"""The package of the default kernel."""

_PACKAGE = re.compile(r"linux-source-\d+\.\d+")
_INSTALLED = Path("/usr/src")
_PACKING = ".tar.xz"


def is_package(name: str) -> bool:
    """Tell whether a source is named like Debian's packages: `linux-source-6.12`."""
    return _PACKAGE.fullmatch(name) is not None


def offered_packages() -> list[str]:
    """Return the packages with Linux's source, installed or offered by apt, oldest release first."""
    installed = [file.name.removesuffix(_PACKING) for file in _INSTALLED.glob(f"linux-source-*{_PACKING}")]
    offered: list[str] = []
    if shutil.which("apt-cache"):
        known = subprocess.run(["apt-cache", "pkgnames", "linux-source-"], capture_output=True, text=True)  # noqa: PLW1510, S607 (without lists there are none)
        offered = known.stdout.split()
    return sorted({name for name in [*installed, *offered] if is_package(name)}, key=_release)


def debian_source(package: str, downloads: Path) -> Tarball:
    """Return the installed package, else a download in `downloads`; raises TussleError without either."""
    installed = _INSTALLED / f"{package}{_PACKING}"
    if installed.exists():
        version = _output_of(package, "dpkg-query", "--show", "--showformat=${Version}", package)
        return Tarball(installed, f"{package} {version}")
    fetched = downloads / installed.name
    version = fetched.with_suffix(".version")
    if not version.exists():
        _fetch(package, fetched, version)
    return Tarball(fetched, f"{package} {version.read_text('utf-8')}")


def _fetch(package: str, tarball: Path, version: Path) -> None:
    """Download the package and extract the tarball; `version` is written last."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        missing = _INSTALLED / tarball.name
        raise TussleError(f"there is no {missing}, and no apt-get that could fetch it: {_next_step(package)}")
    work = tarball.with_suffix(".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _output_of(package, "apt-get", "download", package, folder=work)
        [archive] = work.glob("*.deb")
        _output_of(package, "dpkg-deb", "--extract", str(archive), str(work))
        (work / "usr" / "src" / tarball.name).replace(tarball)
        version.write_text(_output_of(package, "dpkg-deb", "--field", str(archive), "Version"), "utf-8")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _output_of(package: str, *command: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        output = getattr(error, "stderr", None) or str(error)
        raise TussleError(
            f"`{' '.join(command)}` failed: {output.strip().splitlines()[-1]}; {_next_step(package)}"
        ) from error
    return done.stdout.strip()


def _next_step(package: str) -> str:
    tarball = f"{kernel_name(package)}{_PACKING}"
    return (
        f"`apt-get update && apt-get install {package}` on a Debian that has it; elsewhere take a kernel "
        f"from https://kernel.org and give it: `tussle kernel build --source {tarball}`"
    )


def _release(package: str) -> list[int]:
    return [int(number) for number in package.rpartition("-")[2].split(".")]
