"""Debian's kernel source: the installed package, else the package fetched without being installed."""

import shutil
import subprocess
from pathlib import Path

from tussle.errors import TussleError
from tussle.kernel.source import Tarball

PACKAGE = "linux-source-6.1"

_INSTALLED = Path("/usr/src") / f"{PACKAGE}.tar.xz"
_NEXT_STEP = (
    f"`apt-get update && apt-get install {PACKAGE}` on Debian 12; elsewhere take a kernel from "
    "https://kernel.org and give it: `tussle kernel build --source linux-6.1.tar.xz`"
)


def debian_source(downloads: Path) -> Tarball:
    """Return the installed package, else one fetched into `downloads`; raises TussleError without either."""
    if _INSTALLED.exists():
        version = _said_by("dpkg-query", "--show", "--showformat=${Version}", PACKAGE)
        return Tarball(_INSTALLED, f"{PACKAGE} {version}")
    fetched = downloads / _INSTALLED.name
    version = fetched.with_suffix(".version")
    if not version.exists():
        _fetch(fetched, version)
    return Tarball(fetched, f"{PACKAGE} {version.read_text('utf-8')}")


def _fetch(tarball: Path, version: Path) -> None:
    """Download the package and take the tarball out of it; `version` is written last."""
    if not shutil.which("apt-get") or not shutil.which("dpkg-deb"):
        raise TussleError(f"there is no {_INSTALLED}, and no apt-get that could fetch it: {_NEXT_STEP}")
    work = tarball.with_suffix(".part")
    shutil.rmtree(work, ignore_errors=True)
    work.mkdir(parents=True)
    try:
        _said_by("apt-get", "download", PACKAGE, folder=work)
        [package] = work.glob("*.deb")
        _said_by("dpkg-deb", "--extract", str(package), str(work))
        (work / _INSTALLED.relative_to("/")).replace(tarball)
        version.write_text(_said_by("dpkg-deb", "--field", str(package), "Version"), "utf-8")
    finally:
        shutil.rmtree(work, ignore_errors=True)


def _said_by(*command: str, folder: Path | None = None) -> str:
    try:
        done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=True)  # noqa: S603
    except (OSError, subprocess.CalledProcessError) as error:
        said = getattr(error, "stderr", None) or str(error)
        raise TussleError(
            f"`{' '.join(command)}` failed: {said.strip().splitlines()[-1]}; {_NEXT_STEP}"
        ) from error
    return done.stdout.strip()
