"""Check of the host: whether guests can run, and the size of the floating-point state of their processes."""

import re
import subprocess
from functools import cache

from tussle.errors import TussleError
from tussle.kernel import Kernel
from tussle.kernel.agent import agent

_UNPATCHED_STATE_BYTES = 2696
"""Size of the floating-point state of a process in user-mode Linux before 6.13: enough without AMX."""
_ASKS_THE_HOST_SINCE = [6, 13]
_REBUILD = "`tussle kernel build` builds it anew, with a patch that asks the host for the size"

_STATE_REFUSED = "ptrace set fp regs failed"
"""Output of every release of user-mode Linux when PTRACE_SETREGSET fails, before its init is killed."""

_GUEST_STATE = re.compile(r"(?m)^xstate: (\d+) bytes$")
"""Output of the patch kernel/patches/xstate.toml when a guest starts."""


@cache
def host_state_bytes() -> int:
    """Return the bytes of floating-point state that this host saves for a process: 11 008 with AMX.

    Raises TussleError, with cause and remedy, when no guest can run here.
    """
    probed = subprocess.run([agent(), "probe"], capture_output=True, text=True)  # noqa: PLW1510, S603 (its status is looked at)
    if probed.returncode:
        raise TussleError(probed.stderr.strip() or "this host ended the probe that precedes guests")
    return int(probed.stdout)


def confinement() -> str:
    """Describe how far guests are confined on this host: to their own folder, where it has Landlock."""
    measured = subprocess.run([agent(), "confinement"], capture_output=True, text=True, check=True)  # noqa: S603
    return measured.stdout.strip()


def refuse_host(kernel: Kernel) -> None:
    """Raise TussleError, with cause and remedy, when guests of a kernel cannot run on this host."""
    bytes_here = host_state_bytes()
    if bytes_here > _UNPATCHED_STATE_BYTES and not _asks_the_host(kernel):
        raise TussleError(
            f"kernel {kernel.name} cannot run on this processor: it saves {_UNPATCHED_STATE_BYTES} bytes of "
            f"floating-point state, and this host has {bytes_here} (AMX); {_REBUILD}"
        )


def refuse_lost_state(console: str) -> None:
    """Raise TussleError when a guest's `console` shows that it could not restore a process's state."""
    if _STATE_REFUSED in console:
        raise TussleError(
            f"the guest ended because it saves less floating-point state than the {host_state_bytes()} bytes "
            f"of a process on this host; {_REBUILD}"
        )


def state_sizes(kernel: Kernel, output: str) -> str:
    """Describe the size on this host and in a guest of a kernel, whose `output` may contain it."""
    measured = _GUEST_STATE.search(output)
    if measured:
        in_guest = f"{measured[1]} bytes"
    elif _asks_the_host(kernel):
        in_guest = "the size that the host reports at its start"
    else:
        in_guest = f"{_UNPATCHED_STATE_BYTES} bytes"
    return f"{host_state_bytes()} bytes on this host; the guest saves {in_guest}"


def _asks_the_host(kernel: Kernel) -> bool:
    release = [int(number) for number in re.findall(r"\d+", kernel.facts["release"])[:2]]
    return release >= _ASKS_THE_HOST_SINCE or "xstate_patch_sha256" in kernel.facts
