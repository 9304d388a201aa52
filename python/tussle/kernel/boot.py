"""Programs of the host that run for a limited time: guests and the agent."""

import contextlib
import subprocess
import threading
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from pathlib import Path

import psutil

from tussle.kernel.processors import confined_to

_ASK_S = 0.5


def boot(
    command: Sequence[str],
    output: Path,
    expired: Callable[[int], str | None],
    processor: int | None = None,
) -> int | str:
    """Boot in the folder of `output`; return the guest's status, or the reason why it was stopped.

    `expired` gets the process ID twice a second, and returns such a reason, or `None`. The guest stays on
    `processor`, if one is given.
    """
    with output.open("wb") as file:
        # The guest ends when its standard input closes, and thereby with this process.
        with confined_to(processor):
            guest = subprocess.Popen(  # noqa: S603
                command, cwd=output.parent, stdin=subprocess.PIPE, stdout=file, stderr=file
            )
        # `Popen.wait` with a limit of time would look every 50 ms, and most guests take less than 200.
        waiting = threading.Thread(target=guest.wait)
        waiting.start()
        try:
            while waiting.is_alive():
                waiting.join(_ASK_S)
                with contextlib.suppress(psutil.NoSuchProcess):
                    if waiting.is_alive() and (reason := expired(guest.pid)):
                        return reason
            return guest.wait()
        finally:
            if guest.stdin:
                guest.stdin.close()
            guest.wait()


@dataclass
class ProcessorTime:
    """A limit for guests in virtual time, which a host with other work may delay as long as it likes.

    A guest that hangs either computes without an end, or waits for something that never comes.
    """

    most_s: float
    """Processor time that the guest may take."""
    idle_s: float
    """Wall time that it may take without using a processor or waiting for one."""
    _used_s: float = field(default=-1.0, init=False)
    _since_s: float = field(default=0.0, init=False)

    def __call__(self, process: int) -> str | None:
        """Return why the guest must be stopped, `None` while it need not be."""
        used_s, now_s = processor_s(process), time.monotonic()
        if used_s != self._used_s or wants_processor(process):
            self._used_s, self._since_s = used_s, now_s
        if used_s > self.most_s:
            return f"was stopped after {self.most_s:.0f} s of processor time"
        if now_s - self._since_s > self.idle_s:
            return f"was stopped: it had computed nothing for {self.idle_s:.0f} s"
        return None


def processor_s(process: int) -> float:
    """Return the processor time of a process and of those that it started, in seconds."""
    used_s = 0.0
    for each in _with_children(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            times = each.cpu_times()
            used_s += times.user + times.system
    return used_s


def wants_processor(process: int) -> bool:
    """Tell whether a process or one that it started runs, or would if the host had a processor for it."""
    for each in _with_children(process):
        with contextlib.suppress(psutil.NoSuchProcess):
            if each.status() == psutil.STATUS_RUNNING:
                return True
    return False


def _with_children(process: int) -> list[psutil.Process]:
    parent = psutil.Process(process)
    return [parent, *parent.children(recursive=True)]
