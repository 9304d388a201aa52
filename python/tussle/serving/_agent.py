"""The program with the sockets: `tussle-agent serve` or `tussle-agent send`, as a child process."""

import contextlib
import json
import os
import select
import subprocess
from collections.abc import Iterator, Mapping
from types import TracebackType
from typing import IO, Any, Self, cast

from tussle.errors import TussleError, printable
from tussle.kernel.agent import agent

_LOOKS_S = 0.1
"""Interval of checks for Ctrl-C: the kernel may deliver it to another thread than the waiting one."""
_TIMEOUT_S = 10.0
"""Time for an agent to end after its input has ended."""


class Agent:
    """A command of the agent that is running. A context manager: the process has ended when it is left."""

    def __init__(self, command: str, settings: Mapping[str, Any]) -> None:
        self._command = [agent(), command]
        self._settings = settings
        self._buffer = b""

    def __enter__(self) -> Self:
        # A session of its own: a terminal's Ctrl-C reaches this process only, which ends the agent in order.
        self._process = subprocess.Popen(  # noqa: S603 (the program is ours)
            self._command,
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        self._input, self._output, self._problems = cast(
            "tuple[IO[str], IO[str], IO[str]]",
            (self._process.stdin, self._process.stdout, self._process.stderr),
        )
        # An agent that has ended already reports the reason.
        with contextlib.suppress(BrokenPipeError):
            self._input.write(json.dumps(self._settings) + "\n")
            self._input.flush()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self.end()
        try:
            self._process.wait(_TIMEOUT_S)
        except subprocess.TimeoutExpired:
            self._process.kill()
            self._process.wait()
        for pipe in (self._output, self._problems):
            pipe.close()

    def end(self) -> None:
        """Ask the agent to end; it still reports its result."""
        with contextlib.suppress(BrokenPipeError):
            self._input.close()

    def kill(self) -> None:
        """Kill the agent; it reports nothing more."""
        self._process.kill()

    def messages(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield the kind and the contents of each status line; raises TussleError when the agent fails."""
        for line in self._lines():
            [(kind, what)] = json.loads(line).items()
            yield kind, what
        status = self._process.wait()
        if status != 0:
            problem = printable(self._problems.read().strip())
            raise TussleError(problem or f"tussle-agent was ended by signal {-status}")

    def _lines(self) -> Iterator[bytes]:
        output = self._output.fileno()
        while True:
            line, newline, rest = self._buffer.partition(b"\n")
            if newline:
                self._buffer = rest
                yield line
            elif select.select([output], [], [], _LOOKS_S)[0]:
                part = os.read(output, 1 << 16)
                if not part:
                    return
                self._buffer += part
