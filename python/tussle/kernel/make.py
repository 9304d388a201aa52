"""Running `make` in a kernel tree: its tools, its environment, its log."""

import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Iterable
from concurrent.futures import ThreadPoolExecutor, wait
from dataclasses import dataclass
from pathlib import Path
from typing import TextIO

from tussle.errors import TussleError
from tussle.kernel.configuration import KCONFIG, PRESETS
from tussle.kernel.progress import BuildProgress

_TOOLS = ("make", "gcc", "flex", "bison", "bc")
"""Programs of the build; the Debian packages have the same names."""
_OBJECT = re.compile(r"  [A-Z]+ +\S")
_OBJECTS_OF_A_WHOLE_BUILD = 1137
_SHOWN_LINES = 15
_TIMEOUT_S = 0.1
"""Largest delay until an interrupt is handled."""
_HEADER = Path("/usr/include/stdio.h")


def refuse_missing_tools() -> None:
    """Raise TussleError, with the command that installs them, when tools are missing."""
    if (platform.system(), platform.machine()) != ("Linux", "x86_64"):
        raise TussleError(
            f"user-mode Linux is built and runs on Linux on x86-64; this is {platform.system()} on "
            f"{platform.machine()}: use the simulator here"
        )
    missing = [tool for tool in _TOOLS if not shutil.which(tool)]
    packages = [*missing, *([] if _HEADER.exists() else ["libc6-dev"])]
    if packages:
        raise TussleError(
            f"to build a kernel, {', '.join(packages)} must be installed: `apt-get install "
            f"{' '.join(packages)}`, or their names in your distribution"
        )


@dataclass(frozen=True)
class Make:
    """`make` in one tree. Every call appends its output to the log."""

    tree: Path
    log: Path
    progress: BuildProgress

    def configure(self) -> None:
        """Make the configuration from the recipe in the tree."""
        self._call(f"KCONFIG_ALLCONFIG={PRESETS}", "allnoconfig")

    def compile(self) -> None:
        """Compile what is not up to date."""
        self._call(f"-j{len(os.sched_getaffinity(0))}", "linux")

    def _call(self, *arguments: str) -> None:
        command = ["make", "ARCH=um", f"KBUILD_KCONFIG={KCONFIG}", *arguments]
        log = self.log.open("a", buffering=1, encoding="utf-8")
        # `make` has a session of its own, so that the block below can end it with all its compilers. Nothing
        # that takes time is before that block, because an interrupt there would leave them running.
        started = subprocess.Popen(  # noqa: S603
            command,
            cwd=self.tree,
            env=_environment(),
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            text=True,
            errors="replace",
            start_new_session=True,
        )
        with log, started as process, ThreadPoolExecutor(1) as reader:
            try:
                following = reader.submit(self._follow, process.stdout or (), log)
                # A read does not end on an interrupt once polars is loaded, so that a thread reads.
                while not following.done():
                    wait([following], _TIMEOUT_S)
                following.result()
                status = process.wait()
            except BaseException:
                os.killpg(process.pid, signal.SIGTERM)
                raise
        if status:
            lines = self.log.read_text("utf-8").splitlines()[-_SHOWN_LINES:]
            raise TussleError(
                f"`{' '.join(command)}` failed; its output is in {self.log}, and its last lines are above",
                "".join(f"{line}\n" for line in lines),
            )

    def _follow(self, lines: Iterable[str], log: TextIO) -> None:
        objects = 0
        for line in lines:
            log.write(line)
            if _OBJECT.match(line):
                objects += 1
                self.progress.reach(min(objects / _OBJECTS_OF_A_WHOLE_BUILD, 1), f"{objects} objects")


def _environment() -> dict[str, str]:
    """Return an environment without variables that could change the result, such as a caller's flags.

    With fixed time and place, equal sources give equal bytes.
    """
    passed = {name: os.environ[name] for name in ("PATH", "HOME", "TMPDIR") if name in os.environ}
    fixed = {
        "KBUILD_BUILD_TIMESTAMP": "1970-01-01",
        "KBUILD_BUILD_USER": "tussle",
        "KBUILD_BUILD_HOST": "tussle",
        # Otherwise the count of builds in this tree.
        "KBUILD_BUILD_VERSION": "1",
    }
    return passed | fixed | {"LC_ALL": "C"}
