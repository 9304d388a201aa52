"""Network namespaces for tests, removed when their process ends, and hosts in them for `ssh`."""

import os
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

from conftest import skip_or_fail

PROGRAMS = ("ip", "tc", "nsenter", "unshare", "ssh", "sshd", "ssh-keygen")


def require_root_and(*programs: str) -> None:
    """Skip the test, or fail if skipping is forbidden, unless run by root with these programs installed."""
    if not hasattr(os, "geteuid") or os.geteuid() != 0:
        skip_or_fail("making network namespaces needs root")
    for program in programs:
        if not _which(program):
            skip_or_fail(f"there is no {program}; `apt-get install iproute2 openssh-server` installs it")


def _which(program: str) -> str:
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/sbin") or ""


@dataclass(frozen=True)
class Namespace:
    """A network namespace that a process holds open."""

    pid: int

    def command(self, *words: str) -> list[str]:
        """Return the command that runs these words in the namespace."""
        return [_which("nsenter"), "-t", str(self.pid), "-n", _which(words[0]), *words[1:]]

    def run(self, *words: str) -> str:
        return subprocess.run(self.command(*words), check=True, capture_output=True, text=True).stdout

    def processes(self) -> list[int]:
        """Return the processes in the namespace except the one that holds it open."""
        here = Path(f"/proc/{self.pid}/ns/net").readlink()
        found = []
        for entry in Path("/proc").iterdir():
            try:
                if entry.name.isdigit() and (entry / "ns" / "net").readlink() == here:
                    found.append(int(entry.name))
            except OSError:
                continue  # the process has ended meanwhile
        return [pid for pid in found if pid != self.pid]


@contextmanager
def namespace() -> Iterator[Namespace]:
    """Create a namespace with its loopback interface up."""
    # `cat` ends at the end of its stdin, so that it never outlives this process.
    command = [_which("unshare"), "--net", "sh", "-c", "echo; exec cat > /dev/null"]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE) as holder:
        assert holder.stdin is not None
        assert holder.stdout is not None
        holder.stdout.readline()
        made = Namespace(holder.pid)
        made.run("ip", "link", "set", "lo", "up")
        yield made
        holder.stdin.close()


End = tuple[Namespace, str, str]
"""End of a veth pair: its namespace, its name there and its address."""


def wire(left: End, right: End) -> None:
    """Connect two namespaces by a veth pair."""
    first, second = (f"e{netns.pid}-{device}"[:15] for netns, device, _ in (left, right))
    left[0].run(
        "ip", "link", "add", first, "type", "veth", "peer", "name", second, "netns", str(right[0].pid)
    )
    for (netns, device, address), made in zip((left, right), (first, second), strict=True):
        netns.run("ip", "link", "set", made, "name", device)
        netns.run("ip", "address", "add", f"{address}/24", "dev", device)
        netns.run("ip", "link", "set", device, "up")


def ssh_config(folder: Path, hosts: dict[str, Namespace]) -> Path:
    """Write a configuration for `ssh` in which each name is an sshd in its namespace, with its own keys.

    Sessions put their temporary files into the same folder.
    """
    for key in ("host", "user"):
        subprocess.run(
            [_which("ssh-keygen"), "-q", "-t", "ed25519", "-N", "", "-f", str(folder / key)], check=True
        )
    shutil.copy(folder / "user.pub", folder / "authorized")
    known = (folder / "host.pub").read_text("utf-8")
    (folder / "known").write_text("".join(f"{name} {known}" for name in hosts), "utf-8")
    server = folder / "sshd_config"
    server.write_text(
        f"HostKey {folder}/host\nAuthorizedKeysFile {folder}/authorized\nPidFile none\nUsePAM no\n"
        "PermitRootLogin prohibit-password\nPasswordAuthentication no\nStrictModes no\n"
        f"SetEnv TMPDIR={folder}\n",
        "utf-8",
    )
    # sshd's directory for privilege separation, which distributions create at boot.
    Path("/run/sshd").mkdir(mode=0o755, exist_ok=True)
    text = f"User root\nIdentityFile {folder}/user\nIdentitiesOnly yes\nUserKnownHostsFile {folder}/known\n"
    for name, netns in hosts.items():
        sshd = " ".join(netns.command("sshd", "-i", "-f", str(server)))
        text += f"Host {name}\n  ProxyCommand {sshd}\n"
    config = folder / "ssh_config"
    config.write_text(text, "utf-8")
    return config
