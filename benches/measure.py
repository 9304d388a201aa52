"""Runs a program once and measures its processor and wall time."""

from __future__ import annotations

import json
import os
import subprocess
import tempfile
import time
from dataclasses import dataclass


@dataclass(frozen=True)
class Job:
    """A command and its standard input."""

    command: list[str]
    stdin: str = ""


@dataclass(frozen=True)
class Measurement:
    """Packets of one run, and the processor and wall time it took, in seconds."""

    delivered_packets: int
    retransmitted_packets: int
    cpu_s: float
    wall_s: float
    measured_packets: int = 0
    """Data packets delivered after `start_packets` of the case, if the program reports them."""

    @property
    def packets_per_cpu_s(self) -> float:
        """Data packets that crossed the bottleneck per second of processor time."""
        return self.delivered_packets / self.cpu_s


class FailedError(Exception):
    """The program failed, or printed no readable result."""


def measure(job: Job) -> Measurement:
    """Run `job` and wait for it; raises `FailedError` with the reason in a few words.

    Processor time is user and system time of the whole process as the kernel accounts it, which other
    load on the machine changes far less than wall time. A program that times only a part of itself
    prints `cpu_s` and `wall_s`, which are used instead.
    """
    with tempfile.TemporaryFile("w+") as stdin, tempfile.TemporaryFile("w+") as output:
        stdin.write(job.stdin)
        stdin.seek(0)
        before = time.perf_counter()
        child = subprocess.Popen(  # noqa: S603 - the commands are ours
            job.command, stdin=stdin, stdout=output, stderr=subprocess.STDOUT
        )
        _, status, usage = os.wait4(child.pid, 0)
        wall_s = time.perf_counter() - before
        child.returncode = os.waitstatus_to_exitcode(status)
        output.seek(0)
        text = output.read()
    if child.returncode != 0:
        raise FailedError(f"exit code {child.returncode}: {_last_line(text)}")
    result = _result(text)
    return Measurement(
        delivered_packets=int(result.get("delivered_packets", 0)),
        retransmitted_packets=int(result.get("retransmitted_packets", 0)),
        cpu_s=result.get("cpu_s", usage.ru_utime + usage.ru_stime),
        wall_s=result.get("wall_s", wall_s),
        measured_packets=int(result.get("measured_packets", 0)),
    )


def _result(text: str) -> dict[str, float]:
    """Return the JSON that a program printed; ns-2 prints its commands before, even on the same line."""
    for line in text.splitlines():
        _, brace, result = line.partition("{")
        if brace:
            try:
                return json.loads(brace + result)
            except json.JSONDecodeError as error:
                raise FailedError(f"unreadable result: {error}") from error
    raise FailedError(f"no result: {_last_line(text)}")


def _last_line(text: str) -> str:
    lines = text.strip().splitlines()
    return lines[-1][:200] if lines else "no output"
