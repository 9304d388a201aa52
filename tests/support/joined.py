"""Clients and a server in network namespaces with a shaped link, and Tussle's commands run there."""

import contextlib
import json
import os
import re
import shutil
import subprocess
import sys
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any, Self

from conftest import skip_or_fail
from tussle.dataset import Dataset
from tussle.kernel.agent import agent as agent_program
from tussle.serving import (
    SendSettings,
    ServeSettings,
    known_algorithms,
    new_code,
    partial_folder,
    write_dataset,
)

IP = shutil.which("ip") or "/usr/sbin/ip"
TUSSLE = str(Path(sys.executable).parent / "tussle")
RATE_BIT_PER_S = 20_000_000
_TIMEOUT_S = 60.0
"""Generous limit in seconds for expected output."""


class Network:
    """A server and clients around a router, whose link to the server is shaped. A context manager."""

    def __init__(self, clients: int) -> None:
        self._prefix = f"tussle{os.getpid()}"
        self.clients = [f"{self._prefix}-c{index}" for index in range(clients)]
        self.server, self.router = f"{self._prefix}-s", f"{self._prefix}-r"

    def __enter__(self) -> Self:
        if sys.platform != "linux" or os.geteuid() != 0:
            skip_or_fail("network namespaces need Linux and root")
        hosts = [self.server, *self.clients]
        for name in (self.router, *hosts):
            ip("netns", "add", name)
            ip("-n", name, "link", "set", "lo", "up")
        for index, name in enumerate(hosts):
            ip(
                "-n",
                name,
                "link",
                "add",
                "net",
                "type",
                "veth",
                "peer",
                "name",
                f"to{index}",
                "netns",
                self.router,
            )
            for where, device, host in ((name, "net", 1), (self.router, f"to{index}", 2)):
                ip("-n", where, "address", "add", f"10.77.{index}.{host}/24", "dev", device)
                ip("-n", where, "link", "set", device, "up")
            ip("-n", name, "route", "add", "default", "via", f"10.77.{index}.2")
        inside(self.router, "sysctl", "-qw", "net.ipv4.ip_forward=1")
        shape = f"rate {RATE_BIT_PER_S}bit burst 15000 limit 100000".split()
        for device in ("to0", "to1"):
            inside(self.router, "tc", "qdisc", "add", "dev", device, "root", "tbf", *shape)
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        for name in (self.router, self.server, *self.clients):
            subprocess.run([IP, "netns", "delete", name], check=False, capture_output=True)

    def cable(self, client: int, state: str) -> None:
        """Cut the cable of a client ("down"), or join it again ("up")."""
        ip("-n", self.router, "link", "set", f"to{client + 1}", state)


def ip(*words: str) -> None:
    done = subprocess.run([IP, *words], check=False, capture_output=True, text=True)
    assert done.returncode == 0, f"ip {' '.join(words)}: {done.stderr}"


def inside(namespace: str, *words: str) -> None:
    ip("netns", "exec", namespace, *words)


@dataclass
class Server:
    """A running `tussle serve`, or only its agent, which is faster as it writes no report."""

    process: subprocess.Popen[str]
    folder: Path
    at: str
    code: str

    def wait(self) -> str:
        """Wait for the command to exit; return its output."""
        out, problems = self.process.communicate(timeout=_TIMEOUT_S)
        assert self.process.returncode == 0, problems
        return out

    def dataset(self) -> Dataset:
        """Wait for the agent to exit; return its results as a dataset."""
        *_, last = self.wait().splitlines()
        return write_dataset(self.folder, {"served": json.loads(last)["end"]}).dataset

    def until_sends(self, client: int) -> None:
        """Read the agent's messages until data of a client have arrived."""
        assert self.process.stdout
        for line in self.process.stdout:
            clients = json.loads(line).get("live", {"clients": []})["clients"]
            if any(each["client"] == client and each["total_bytes"] > 0 for each in clients):
                return
        raise AssertionError("the server ended")


def in_namespace(namespace: str, *command: str) -> subprocess.Popen[str]:
    return started(IP, "netns", "exec", namespace, *command)


def started(*command: str) -> subprocess.Popen[str]:
    return subprocess.Popen(
        command,
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )


def configured(process: subprocess.Popen[str], settings: dict[str, Any]) -> subprocess.Popen[str]:
    """Write an agent's settings to its stdin, which stays open."""
    assert process.stdin
    process.stdin.write(json.dumps(settings) + "\n")
    process.stdin.flush()
    return process


@contextlib.contextmanager
def serve_command(namespace: str, folder: Path, *options: str) -> Iterator[Server]:
    """Run `tussle serve` in a namespace."""
    words = ["serve", "--listen", "10.77.0.1", "--port", "0", "-o", str(folder)]
    process = in_namespace(namespace, TUSSLE, *words, *options)
    with killed_at_exit(process):
        assert process.stdout
        output = process.stdout.readline() + process.stdout.readline()
        found = re.search(r"tussle send (\S+) --code (\S+)", output)
        assert found, output
        yield Server(process, folder, found[1], found[2])


@contextlib.contextmanager
def serving(namespace: str | None, folder: Path, **others: Any) -> Iterator[Server]:
    """Run only the agent of `tussle serve`; without a namespace, on the loopback of this machine."""
    partial_folder(folder).mkdir()
    listen = "10.77.0.1" if namespace else "127.0.0.1"
    command = (str(agent_program()), "serve")
    settings = ServeSettings(
        listen=f"{listen}:0",
        code=new_code(),
        folder=str(partial_folder(folder)),
        for_ns=None,
        clients=others.get("clients"),
        until_idle_ns=None,
        patience_ns=others.get("patience_s", 60) * 10**9,
        algorithms=known_algorithms(),
    )
    process = in_namespace(namespace, *command) if namespace else started(*command)
    configured(process, settings.as_dict())
    with killed_at_exit(process):
        assert process.stdout
        port = json.loads(process.stdout.readline())["listening"]["port"]
        yield Server(process, folder, f"{listen}:{port}", settings.code)


@contextlib.contextmanager
def killed_at_exit(process: subprocess.Popen[str]) -> Iterator[None]:
    try:
        yield
    finally:
        process.kill()
        process.communicate()


def sending(namespace: str | None, server: Server, **others: Any) -> subprocess.Popen[str]:
    """Start the agent of `tussle send`; without a namespace, on this machine."""
    settings = SendSettings(
        to=(server.at,),
        code=others.get("code", server.code),
        algorithm=others.get("algorithm", "reno"),
        flows=others.get("flows", 1),
        direction=others.get("direction", "up"),
        for_ns=int(others.get("for_s", 60) * 10**9),
        bytes=others.get("bytes"),
    )
    command = (str(agent_program()), "send")
    return configured(
        in_namespace(namespace, *command) if namespace else started(*command), settings.as_dict()
    )


def finished(client: subprocess.Popen[str]) -> dict[str, Any]:
    """Wait for a client's agent to succeed; return its final message."""
    output, problems = _ended(client)
    assert client.returncode == 0, problems
    return json.loads(output.splitlines()[-1])["end"]


def failed(client: subprocess.Popen[str]) -> str:
    """Wait for a client's agent to fail; return the reason that it prints."""
    _, problems = _ended(client)
    assert client.returncode == 2
    return problems


def _ended(client: subprocess.Popen[str]) -> tuple[str, str]:
    # Not `communicate`, which closes stdin: the agent would stop.
    assert client.stdin
    assert client.stdout
    assert client.stderr
    with client.stdout, client.stderr:
        output, problems = client.stdout.read(), client.stderr.read()
        client.wait(_TIMEOUT_S)
    # The pipe may be closed already, or have no reader.
    with contextlib.suppress(BrokenPipeError):
        client.stdin.close()
    return output, problems


def until_written(path: Path) -> None:
    """Wait until a file exists."""
    deadline = time.monotonic() + _TIMEOUT_S
    while not path.exists():
        assert time.monotonic() < deadline, f"{path} was never written"
        time.sleep(0.05)
