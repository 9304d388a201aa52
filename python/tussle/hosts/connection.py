"""The agent on another machine, by the system's `ssh`: lines of JSON over its pipes."""

import json
import queue
import subprocess
import tempfile
import threading
import time
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Any

from tussle.errors import TussleError
from tussle.hosts import Host
from tussle.kernel.agent import agent

_CONNECT_S = 60.0
"""Time for logging in, and for sending the agent over a slow network."""
_ANSWER_S = 20.0
_PINGS = 20

_OPTIONS = (
    "-T",
    "-o",
    "BatchMode=yes",
    "-o",
    "ConnectTimeout=15",
    # With these options a lost host is detected early.
    "-o",
    "ServerAliveInterval=5",
    "-o",
    "ServerAliveCountMax=3",
)

_INSTALL = (
    'f=$(mktemp "${{TMPDIR:-/tmp}}/tussle-XXXXXX") || exit 1; head -c {size} > "$f"; '
    '[ "$(wc -c < "$f")" -eq {size} ] && chmod 700 "$f" && "$f" host "$f"; rm -f "$f"'
)
"""Start the agent, which removes its own file at once; the shell does where the agent could not start."""


class HostLost(Exception):  # noqa: N818 (it says what happened)
    """A machine answers no more; the message has the reason, if it is known."""


@dataclass(frozen=True)
class Offset:
    """Offsets of a machine's clocks to this one's."""

    ahead_ns: int
    """Offset of the monotonic clock, which times runs."""
    time_of_day_ahead_ns: int
    error_ns: int
    """Largest error of either: half of the shortest time that an answer took."""


class Connection:
    """An agent that answers; made by `connect`, and ended by `close`, or when this process ends."""

    def __init__(self, host: Host) -> None:
        self.host = host
        self._errors = tempfile.TemporaryFile()  # noqa: SIM115 (it is closed with the connection)
        config = ("-F", str(host.ssh_config)) if host.ssh_config else ()
        program = agent().read_bytes()
        command = ["ssh", *_OPTIONS, *config, "--", host.ssh, _INSTALL.format(size=len(program))]
        try:
            self._ssh = subprocess.Popen(  # noqa: S603
                command,
                stdin=subprocess.PIPE,
                stdout=subprocess.PIPE,
                stderr=self._errors,
                # Ctrl-C is for this process, which then ends the others in order.
                start_new_session=True,
            )
        except FileNotFoundError:
            self._errors.close()
            raise TussleError(
                "the engine hosts needs `ssh`; `apt-get install openssh-client` installs it"
            ) from None
        self._answers: queue.SimpleQueue[tuple[int, dict[str, Any], bytes] | None] = queue.SimpleQueue()
        threading.Thread(target=self._read, daemon=True).start()
        try:
            self._send(program)
            self.hello = self._answer("hello", _CONNECT_S)[0]
        except BaseException:
            self.close()
            raise

    def ask(self, request: str | Mapping[str, Any], timeout_s: float = _ANSWER_S) -> dict[str, Any]:
        """Send a request, and return the answer, whose one key is its kind.

        Raises HostLost, and TussleError with what the machine cannot do.
        """
        self.post(request)
        return self._any_answer(timeout_s)[1]

    def post(self, request: str | Mapping[str, Any]) -> None:
        """Send a request whose answer comes later; raises HostLost."""
        self._send(json.dumps(request).encode() + b"\n")

    def result(self, kind: str, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        """Wait for an answer of a kind: its contents, and the bytes after it.

        Raises HostLost, and TussleError with what failed on the machine.
        """
        return self._answer(kind, timeout_s)

    def offset(self) -> Offset:
        """Estimate the offsets of the clocks, from the fastest answer; raises HostLost."""
        best: Offset | None = None
        since_1970_ns = time.time_ns() - time.monotonic_ns()
        for _ in range(_PINGS):
            asked_ns = time.monotonic_ns()
            self.post("clock")
            arrived_ns, answer, _ = self._any_answer(_ANSWER_S)
            error_ns = (arrived_ns - asked_ns + 1) // 2
            if best is None or error_ns < best.error_ns:
                middle_ns, theirs = (asked_ns + arrived_ns) // 2, answer["clock"]
                time_of_day_ahead_ns = theirs["realtime_ns"] - middle_ns - since_1970_ns
                best = Offset(theirs["monotonic_ns"] - middle_ns, time_of_day_ahead_ns, error_ns)
        assert best is not None  # noqa: S101 (there are some pings)
        return best

    def close(self) -> None:
        """End the agent, which ends with its pipe, and `ssh`."""
        if self._ssh.stdin:
            # The pipe may be broken already.
            with suppress(OSError):
                self._ssh.stdin.close()
        try:
            self._ssh.wait(1)
        except subprocess.TimeoutExpired:
            self._ssh.kill()
            self._ssh.wait()
        self._errors.close()

    def _send(self, data: bytes) -> None:
        assert self._ssh.stdin is not None  # noqa: S101 (it is a pipe)
        try:
            self._ssh.stdin.write(data)
            self._ssh.stdin.flush()
        except (OSError, ValueError) as error:
            raise self._lost() from error

    def _answer(self, kind: str, timeout_s: float) -> tuple[dict[str, Any], bytes]:
        _, answer, rest = self._any_answer(timeout_s)
        if kind not in answer:
            raise TussleError(f"host {self.host.name} answered {next(iter(answer))} instead of {kind}")
        return answer[kind], rest

    def _any_answer(self, timeout_s: float) -> tuple[int, dict[str, Any], bytes]:
        try:
            came = self._answers.get(timeout=timeout_s)
        except queue.Empty:
            raise HostLost(f"host {self.host.name} gave no answer for {timeout_s:.0f} s") from None
        if came is None:
            raise self._lost()
        if "problem" in came[1]:
            raise TussleError(f"host {self.host.name}: {came[1]['problem']['sentence']}")
        return came

    def _lost(self) -> HostLost:
        try:
            status = self._ssh.wait(1)
        except subprocess.TimeoutExpired:
            status = None
        self._errors.seek(0)
        lines = self._errors.read().decode("utf-8", errors="replace").strip().splitlines()
        why = lines[-1] if lines else f"ssh ended with status {status}"
        return HostLost(f"host {self.host.name} ({self.host.ssh}) is lost: {why}")

    def _read(self) -> None:
        """Read answers until there are no more."""
        out = self._ssh.stdout
        assert out is not None  # noqa: S101 (it is a pipe)
        with out:
            while line := out.readline():
                arrived_ns = time.monotonic_ns()
                try:
                    answer = json.loads(line)
                    sent = answer.get("sent", {})
                    rest = out.read(sent.get("samples_bytes", 0) + sent.get("events_bytes", 0))
                except (ValueError, AttributeError):
                    continue  # a greeting of the machine's shell
                self._answers.put((arrived_ns, answer, rest))
        self._answers.put(None)
