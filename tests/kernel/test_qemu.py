"""Unmodified kernels: release, modules, and an emulated machine that does not depend on the host."""

import gzip
import io
import lzma
import struct
import subprocess
import tarfile
from pathlib import Path

import pytest

from conftest import skip_or_fail
from tussle.errors import TussleError
from tussle.kernel import qemu
from tussle.kernel.distribution import DistributionKernel

RELEASE = "6.1.0-9-test"


def image(folder: Path, release: str = RELEASE) -> Path:
    """Write the header of a kernel for x86, and its release at the offset that the header gives."""
    head = bytearray(0x800)
    head[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", head, 0x20E, 0x300)
    text = f"{release} (builder@host) #1 SMP".encode()
    head[0x500 : 0x500 + len(text)] = text
    (folder / "vmlinuz").write_bytes(head)
    return folder / "vmlinuz"


def module(folder: Path, path: str, depends: str = "") -> bytes:
    file = folder / RELEASE / "kernel" / path
    file.parent.mkdir(parents=True, exist_ok=True)
    content = b"\x7fELF\0license=GPL\0depends=" + depends.encode() + b"\0name=" + file.stem.encode() + b"\0"
    pack = {".gz": gzip.compress, ".xz": lzma.compress}.get(file.suffix, bytes)
    file.write_bytes(pack(content))
    return content


@pytest.fixture
def kernel(tmp_path: Path) -> DistributionKernel:
    return DistributionKernel(image(tmp_path), tmp_path / "modules")


def test_the_release_is_read_from_the_image(kernel):
    assert kernel.release == RELEASE


def test_algorithms_queues_and_devices_come_after_what_they_need(kernel):
    module(kernel.modules, "net/ipv4/tcp_yeah.ko", "tcp_vegas,tcp-helper")
    module(kernel.modules, "net/ipv4/tcp_vegas.ko")
    module(kernel.modules, "net/other/tcp-helper.ko", "base,built_in")
    module(kernel.modules, "lib/base.ko")
    module(kernel.modules, "net/sched/sch_cake.ko")
    module(kernel.modules, "drivers/net/veth.ko")
    module(kernel.modules, "drivers/net/unrelated.ko")
    module(kernel.modules, "net/ipv4/netfilter/tcp_filter.ko")
    assert list(kernel.needed_modules()) == [
        "sch_cake",
        "tcp_vegas",
        "base",
        "tcp_helper",
        "tcp_yeah",
        "veth",
    ]


@pytest.mark.parametrize("packing", ["", ".gz", ".xz"])
def test_modules_are_unpacked(kernel, packing):
    content = module(kernel.modules, f"net/ipv4/tcp_bbr.ko{packing}")
    assert kernel.needed_modules() == {"tcp_bbr": content}


def test_modules_that_cannot_be_unpacked_are_named(kernel):
    module(kernel.modules, "net/ipv4/tcp_bbr.ko.zst")
    with pytest.raises(TussleError, match=r"tcp_bbr.ko.zst has a compression .* \(`zstd -d`\)"):
        kernel.needed_modules()


def test_the_modules_of_another_kernel_are_refused(tmp_path):
    module(tmp_path / "modules", "net/ipv4/tcp_bbr.ko")
    other = DistributionKernel(image(tmp_path, "6.5.0-other"), tmp_path / "modules")
    with pytest.raises(TussleError, match=r"holds no folder 6\.5\.0-other, the modules of"):
        other.needed_modules()


@pytest.mark.parametrize("content", [None, b"", b"\x7fELF" + bytes(0x800)])
def test_a_file_that_is_no_kernel_is_refused(tmp_path, content):
    if content is not None:
        (tmp_path / "vmlinuz").write_bytes(content)
    with pytest.raises(TussleError, match=r'kernel=".*vmlinuz" (cannot be read|is not a kernel for x86)'):
        _ = DistributionKernel(tmp_path / "vmlinuz", tmp_path).release


def test_missing_tools_are_named_with_the_command_that_installs_them(monkeypatch):
    monkeypatch.setattr("shutil.which", lambda tool, **_: None if "qemu" in tool else "/bin/true")
    with pytest.raises(TussleError, match="`apt-get install qemu-system-x86`"):
        qemu.refuse_missing_tools()


def test_the_machine_does_not_depend_on_its_host(tmp_path):
    line = " ".join(qemu.command(tmp_path / "vmlinuz", tmp_path, []))
    assert "-icount shift=0,sleep=off,rr=record,rrfile=/dev/null" in line
    assert "clock=vm" in line
    assert "-rdrand,-rdseed" in line
    assert "nokaslr" in line


def test_a_comma_in_a_path_is_no_option(tmp_path):
    assert f"file,id=console,path={tmp_path}/a,,b/console" in qemu.command(
        tmp_path / "vmlinuz", tmp_path / "a,b", []
    )


def test_the_guest_gets_the_memory_and_the_parameters_that_its_run_needs(tmp_path):
    line = " ".join(qemu.command(tmp_path / "vmlinuz", tmp_path, ["tcp_cubic.beta=512", "mem=900M"]))
    assert " -m 900 " in line
    assert "tcp_cubic.beta=512" in line
    assert "mem=900M" not in line


def test_the_guest_finds_its_agent_its_tools_its_modules_and_its_run(tools, tmp_path):
    agent = tmp_path / "agent"
    agent.write_bytes(b"the agent")
    modules = {"tcp_vegas": b"vegas", "tcp_yeah": b"yeah"}
    packed = qemu.initramfs(agent, modules, {"run.json": b"{}"})
    subprocess.run(["cpio", "--extract", "--quiet"], cwd=tools, input=packed, check=True)  # noqa: S607
    assert (tools / "init").read_bytes() == b"the agent"
    assert sorted(file.name for file in (tools / "modules").iterdir()) == ["0000-tcp_vegas", "0001-tcp_yeah"]
    assert (tools / "share/run.json").read_bytes() == b"{}"
    assert {"proc", "sys", "dev", "run"} <= {file.name for file in tools.iterdir()}
    assert list(tools.glob("lib*/**/libc.so.6"))
    assert qemu.initramfs(agent, modules, {"run.json": b"{}"}) == packed


@pytest.fixture
def tools(tmp_path: Path) -> Path:
    """An empty folder; without the programs that pack a guest, the test is skipped."""
    try:
        qemu.refuse_missing_tools()
    except TussleError as error:
        skip_or_fail(str(error))
    (tmp_path / "guest").mkdir()
    return tmp_path / "guest"


def test_results_are_the_files_that_the_guest_sent(tmp_path):
    sent = io.BytesIO()
    with tarfile.open(fileobj=sent, mode="w") as archive:
        for name, content in {"flows.arrow": b"table", "done": b""}.items():
            member = tarfile.TarInfo(name)
            member.size = len(content)
            archive.addfile(member, io.BytesIO(content))
    (tmp_path / "results").write_bytes(sent.getvalue())
    assert qemu.results(tmp_path) == {"flows.arrow": b"table", "done": b""}


@pytest.mark.parametrize("content", [None, b"", b"half of an archive"])
def test_a_guest_that_sent_nothing_has_no_results(tmp_path, content):
    if content is not None:
        (tmp_path / "results").write_bytes(content)
    assert qemu.results(tmp_path) == {}
