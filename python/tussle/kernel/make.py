"""Running `make` in a kernel tree: its tools, its environment, its log."""

import os
import platform
import re
import shutil
import signal
import subprocess
from collections.abc import Sequence
from concurrent.futures import Future, ThreadPoolExecutor, wait
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path

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
        started: Future[subprocess.Popen[str]] = Future()
        with ThreadPoolExecutor(1) as thread:
            try:
                # An interrupt reaches the main thread only, which would lose a `make` that it is starting.
                # Nor does it end a read once polars is loaded.
                made = thread.submit(self._run, command, started)
                while not made.done():
                    wait([made], _TIMEOUT_S)
                status = made.result()
            except BaseException:
                if not started.cancel() and not started.exception():
                    with suppress(ProcessLookupError):
                        os.killpg(started.result().pid, signal.SIGTERM)
                raise
        if status:
            lines = self.log.read_text("utf-8").splitlines()[-_SHOWN_LINES:]
            raise TussleError(
                f"`{' '.join(command)}` failed; its output is in {self.log}, and its last lines are above",
                "".join(f"{line}\n" for line in lines),
            )

    def _run(self, command: Sequence[str], started: Future[subprocess.Popen[str]]) -> int:
        """Run a command, unless `started` is cancelled; return its status."""
        if not started.set_running_or_notify_cancel():
            return 0
        try:
            process = self._start(command)
        except BaseException as error:
            started.set_exception(error)
            raise
        started.set_result(process)
        objects = 0
        with process, self.log.open("a", buffering=1, encoding="utf-8") as log:
            for line in process.stdout or ():
                log.write(line)
                if _OBJECT.match(line):
                    objects += 1
                    self.progress.reach(min(objects / _OBJECTS_OF_A_WHOLE_BUILD, 1), f"{objects} objects")
        return process.returncode

    def _start(self, command: Sequence[str]) -> subprocess.Popen[str]:
        """Start a command in a session of its own, so that it can be ended with all its compilers."""
        return subprocess.Popen(  # noqa: S603
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
