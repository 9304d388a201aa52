"""Builds of kernels from folders, tarballs and packages; a makefile of a few lines replaces Linux."""

import contextlib
import io
import json
import os
import shutil
import signal
import subprocess
import sys
import tarfile
import time
from pathlib import Path

import pytest

from tussle.cli import main
from tussle.errors import TussleError
from tussle.kernel import Kernel, built_kernel, cache_folder, kernel_names, remove_kernel
from tussle.kernel.agent import agent
from tussle.kernel.build import BuildRequest, BuildResult, build_kernel
from tussle.kernel.debian import debian_source, offered_packages
from tussle.kernel.driver import driver
from tussle.kernel.guest import refuse_other_driver
from tussle.kernel.patches import patches
from tussle.kernel.progress import Silent
from tussle.kernel.source import Folder, SourceFile, given_source
from tussle.kernel.tree import Tree

MAKEFILE = """\
VERSION = 6
PATCHLEVEL = 1
allnoconfig:
	test "$(ARCH)" = um
	grep -v GONE $(KCONFIG_ALLCONFIG) > .config
	sed -n 's/.*default /CONFIG_HZ=/p' $(KBUILD_KCONFIG) >> .config
	echo 'CONFIG_CC_VERSION_TEXT="gcc of a test"' >> .config
linux: net.o
	mkdir -p include/config; echo 6.1.5 > include/config/kernel.release
	echo "  LINK linux"; cat net.o .config > linux
net.o: net/tcp.c
	echo "  CC      net/tcp.o"; echo compiled >> compiled; cp net/tcp.c net.o
"""
FILES = {
    "Makefile": MAKEFILE,
    "Kconfig": 'mainmenu "A kernel"\n\nsource "arch/um/Kconfig"\n',
    "arch/um/Kconfig": "config HZ\n\tint\n\tdefault 100\n",
    "drivers/net/Makefile": "obj-$(CONFIG_VETH) += veth.o\n",
    "net/tcp.c": "beta = 0.7\n",
    "net/ipv4/Kconfig": "config TCP_CONG_MINE\n\ttristate\n",
}
STUBS = ("gcc", "flex", "bison", "bc")


@pytest.fixture(autouse=True)
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A cache for this test alone; its `PATH` has the tools of a build."""
    tools = tmp_path / "tools"
    tools.mkdir()
    for name in STUBS:
        (tools / name).symlink_to(str(shutil.which("true")))
    monkeypatch.setenv("PATH", f"{tools}{os.pathsep}{os.environ['PATH']}")
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "cache"))
    monkeypatch.delenv("TUSSLE_KERNEL", raising=False)
    return tmp_path / "cache" / "kernel"


@pytest.fixture
def linux(tmp_path: Path) -> Path:
    return written(tmp_path / "linux")


def written(folder: Path, **changes: str) -> Path:
    for name, text in (FILES | changes).items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text(text, "utf-8")
    return folder


def packed(folder: Path, tarball: Path) -> Path:
    with tarfile.open(tarball, "w:gz") as archive:
        archive.add(folder, "linux-6.1.5")
    return tarball


def build(source: Path, name: str | None = None, **changes: int) -> BuildResult:
    return build_kernel(BuildRequest(source, name, **changes), Silent())


def refusal(source: Path, name: str | None = None) -> str:
    with pytest.raises(TussleError) as refused:
        build_kernel(BuildRequest(source, name), Silent())
    return str(refused.value)


def compilations(cache: Path) -> int:
    return len((cache / "tree/compiled").read_text("utf-8").splitlines())


# --- results ---


def test_a_kernel_has_the_facts_of_its_origin(linux):
    kernel = build(linux, "mine", hz=300).kernel
    assert kernel == built_kernel("mine")
    assert kernel.image.read_text("utf-8").startswith("beta = 0.7\n")
    facts = dict(kernel.facts)
    for digest in ("source", "recipe", "config", "image", "driver", "driver_patch"):
        assert len(bytes.fromhex(facts.pop(f"{digest}_sha256"))) == 32
    assert facts == {
        "release": "6.1.5",
        "source": str(linux),
        "hz": "300",
        "lacks": "",
        "compiler": "gcc of a test",
    }


def test_the_recipe_and_every_algorithm_of_the_tree_are_configured(linux):
    configured = build(linux).kernel.image.with_name("config").read_text("utf-8").splitlines()
    assert {"CONFIG_UML_TIME_TRAVEL_SUPPORT=y", "CONFIG_HZ=250", "CONFIG_TCP_CONG_MINE=y"} <= set(configured)


def test_equal_sources_give_equal_kernels_in_any_packing(linux, tmp_path):
    folder = build(linux, "folder").kernel
    tarball = build(packed(linux, tmp_path / "linux-6.1.5.tar.gz")).kernel
    assert tarball.name == "linux-6.1.5"
    assert tarball.facts["image_sha256"] == folder.facts["image_sha256"]


def test_the_users_folder_stays_as_it_was(linux):
    build(linux)
    assert {str(file.relative_to(linux)) for file in linux.rglob("*") if file.is_file()} == set(FILES)


def test_the_sources_of_a_git_repository_are_separated_from_its_build_products(linux):
    subprocess.run(["git", "init", "-q", linux], check=True)  # noqa: S607
    written(
        linux, **{".gitignore": "*.o\n.config\n", ".config": "CONFIG_X86=y\n", "net.o": "of another build"}
    )
    assert build(linux).kernel.image.read_text("utf-8").startswith("beta = 0.7\n")


# --- rebuilds ---


def test_a_second_call_does_nothing(linux, cache):
    first, second = build(linux), build(linux)
    assert (first.already_built, second.already_built) == (False, True)
    assert first.kernel == second.kernel
    assert compilations(cache) == 1


def test_a_patch_recompiles_the_changed_files_only(linux, cache, tmp_path):
    build(linux, "before")
    elsewhere = written(tmp_path / "elsewhere", **{"arch/um/new.c": "nothing depends on it"})
    build(elsewhere, "moved")
    assert compilations(cache) == 1
    written(elsewhere, **{"net/tcp.c": "beta = 0.8\n"})
    after = build(elsewhere, "after").kernel
    assert compilations(cache) == 2
    assert after.image.read_text("utf-8").startswith("beta = 0.8\n")
    assert built_kernel("before").image.read_text("utf-8").startswith("beta = 0.7\n")


def test_other_ticks_are_another_kernel(linux):
    build(linux)
    assert not build(linux, hz=1000).already_built
    assert built_kernel("linux-1000hz").facts["hz"] == "1000"
    assert built_kernel("linux").facts["hz"] == "250"


def test_another_release_is_compiled_from_nothing(linux, cache):
    build(linux)
    written(linux, Makefile=MAKEFILE.replace("PATCHLEVEL = 1", "PATCHLEVEL = 12"))
    build(linux)
    assert compilations(cache) == 1


def test_a_kernel_that_is_built_needs_no_tools(linux, monkeypatch):
    build(linux)
    monkeypatch.setenv("PATH", "")
    assert build(linux).already_built


def test_an_interrupted_copy_continues_and_removes_the_files_of_another_source(tmp_path):
    class Stopping:
        name = "a source"

        def files(self, _):
            yield SourceFile("a.c", 0o100644, b"a")
            raise KeyboardInterrupt

    linux = Folder(written(tmp_path / "linux"))
    tree = Tree(tmp_path / "tree")
    with pytest.raises(KeyboardInterrupt):
        tree.update_to(Stopping(), lambda _: None)  # pyright: ignore[reportArgumentType]
    tree.update_to(linux, lambda _: None)
    assert not (tree.folder / "a.c").exists()
    assert (tree.folder / "net/tcp.c").read_text("utf-8") == FILES["net/tcp.c"]


def test_a_copy_that_was_killed_is_begun_anew(linux, tmp_path):
    tree = Tree(tmp_path / "tree")
    tree.update_to(Folder(linux), lambda _: None)
    (tree.folder / "net/tcp.c").write_text("half of it", "utf-8")
    (tmp_path / "tree.json").unlink()
    tree.update_to(Folder(linux), lambda _: None)
    assert (tree.folder / "net/tcp.c").read_text("utf-8") == FILES["net/tcp.c"]


def test_files_for_other_hardware_are_left_out_but_for_what_configures_a_build(linux, tmp_path):
    configures = ("arch/arm64/Kconfig.debug", "drivers/gpu/drm/Makefile", "Documentation/Kbuild")
    others = ("arch/arm64/kernel/entry.S", "drivers/gpu/drm/drm.c", "drivers/net/wireless/b43/b43.h")
    ours = ("arch/x86/um/asm/elf.h", "drivers/net/veth.c", "tools/include/linux/types.h")
    written(linux, **dict.fromkeys((*configures, *others, *ours), ""))
    for source in (linux, packed(linux, tmp_path / "linux.tar.gz")):
        paths = {file.path for file in given_source(source).files(lambda _: None)}
        assert paths == {*FILES, *configures, *ours}


def test_symbolic_links_and_permissions_are_kept(linux, tmp_path):
    (linux / "link").symlink_to("net/tcp.c")
    (linux / "net/tcp.c").chmod(0o755)
    for source in (linux, packed(linux, tmp_path / "linux.tar.gz")):
        tree = Tree(tmp_path / "tree")
        tree.update_to(given_source(source), lambda _: None)
        assert (tree.folder / "link").readlink() == Path("net/tcp.c")
        assert os.access(tree.folder / "net/tcp.c", os.X_OK)
        assert not os.access(tree.folder / "Makefile", os.X_OK)
        (tmp_path / "tree.json").unlink()


@pytest.mark.parametrize(
    "first",
    [
        # The build prints nothing meanwhile: with polars loaded, an interrupt does not end a read.
        "import polars",
        # `make` compiles, and Python has not yet been told that it runs.
        "import subprocess, time; start = subprocess.Popen.__init__; "
        "subprocess.Popen.__init__ = lambda *a, **k: (start(*a, **k), time.sleep('linux' in a[1]))[0]",
    ],
    ids=["idle", "busy"],
)
def test_an_interrupted_build_leaves_no_process_and_continues(first, linux, cache):
    # Other processes run this test at the same time, and look for commands of their own.
    waiting = f"sleep {1_000_000 + os.getpid()}"
    written(linux, Makefile=MAKEFILE.replace("cp net", f"test -e go || exec {waiting}; cp net"))
    command = [
        sys.executable,
        "-c",
        f"{first}; from tussle.cli import main; main()",
        "kernel",
        "build",
        "--source",
        linux,
    ]
    process = subprocess.Popen(command, stderr=subprocess.PIPE, text=True)
    while not (cache / "tree/compiled").exists():
        assert process.poll() is None
        time.sleep(0.01)
    process.send_signal(signal.SIGINT)
    assert process.communicate()[1] == "tussle: interrupted; repeat the same command to go on\n"
    assert process.returncode == 130
    assert waiting not in running()
    (cache / "tree/go").touch()
    assert not build(linux).already_built


def running() -> str:
    texts = []
    for file in Path("/proc").glob("[0-9]*/cmdline"):
        with contextlib.suppress(OSError):  # it has ended
            texts.append(file.read_bytes().replace(b"\0", b" ").decode(errors="replace"))
    return "".join(texts)


# --- choice of a kernel ---


def test_without_a_kernel_the_command_that_builds_one_is_named():
    with pytest.raises(TussleError, match="no kernel is built yet; `tussle kernel build` makes one"):
        built_kernel()


def test_the_kernel_is_chosen_by_name_or_by_the_environment(linux, monkeypatch):
    build(linux, "linux-6.1")
    build(linux, "patched")
    assert built_kernel().name == "linux-6.1"
    assert built_kernel("patched").name == "patched"
    monkeypatch.setenv("TUSSLE_KERNEL", "patched")
    assert built_kernel().name == "patched"


def test_an_unknown_kernel_is_answered_with_the_nearest(linux):
    build(linux, "patched")
    with pytest.raises(TussleError, match='unknown kernel "patchd"; did you mean "patched"'):
        built_kernel("patchd")


def test_a_kernel_is_removed_and_the_others_stay(linux):
    build(linux, "one")
    build(linux, "two")
    remove_kernel("one")
    assert kernel_names() == ["two"]
    with pytest.raises(TussleError, match='unknown kernel "one"; there is two'):
        remove_kernel("one")


@pytest.mark.parametrize("damaged", ["image", "facts"])
def test_a_damaged_kernel_does_not_run(linux, damaged):
    image = build(linux).kernel.image
    (image if damaged == "image" else image.with_name("kernel.json")).write_text("{", "utf-8")
    with pytest.raises(TussleError, match=r"linux is damaged; remove that folder and build it again"):
        built_kernel("linux")
    assert not build(linux).already_built


# --- refusals ---


def test_a_path_without_a_source_is_refused(tmp_path):
    (tmp_path / "empty").mkdir()
    (tmp_path / "text").write_text("text", "utf-8")
    assert "empty is not a kernel tree: it has no Makefile; give" in refusal(tmp_path / "empty")
    assert "none does not exist; give" in refusal(tmp_path / "none")
    assert "text is neither a folder nor a tarball; give" in refusal(tmp_path / "text")


def test_a_tarball_of_something_else_is_refused(tmp_path):
    other = written(tmp_path / "other")
    (other / "arch/um/Kconfig").unlink()
    assert "other.tgz is not Linux's source: it has no arch/um/Kconfig" in refusal(
        packed(other, tmp_path / "other.tgz")
    )


def test_a_tarball_with_a_path_outside_of_it_is_refused(tmp_path):
    with tarfile.open(tmp_path / "evil.tar", "w") as archive:
        member = tarfile.TarInfo("linux/../../evil")
        archive.addfile(member, io.BytesIO())
    assert "outside of the archive" in refusal(tmp_path / "evil.tar")


def test_a_truncated_tarball_is_refused(linux, tmp_path):
    (linux / "net/noise").write_bytes(os.urandom(1 << 18))
    tarball = packed(linux, tmp_path / "linux.tar.gz")
    tarball.write_bytes(tarball.read_bytes()[: 1 << 17])
    assert "linux.tar.gz cannot be unpacked" in refusal(tarball)


def test_a_folder_that_was_built_in_without_git_is_refused(linux):
    written(linux, **{".config": "CONFIG_X86=y\n"})
    assert "contains products of a build (.config)" in refusal(linux)
    assert "make mrproper" in refusal(linux)


def test_a_tree_without_a_needed_option_is_refused_with_its_name(linux):
    written(linux, Makefile=MAKEFILE.replace("GONE", "TIME_TRAVEL"))
    assert "it has no UML_TIME_TRAVEL_SUPPORT" in refusal(linux)


def test_a_tree_that_cannot_take_the_driver_is_refused(linux):
    (linux / "drivers/net/Makefile").write_text("obj-y += mine.o\n", "utf-8")
    assert "cannot take Tussle's driver: its drivers/net/Makefile has no line for veth.o" in refusal(linux)


def test_the_driver_is_part_of_the_tree_and_its_digest_a_fact(linux, cache):
    kernel = build(linux).kernel
    assert kernel.facts["driver_sha256"] == driver().digest()
    built_in = cache / "tree/drivers/net"
    assert "obj-y += tussle/" in (built_in / "Makefile").read_text("utf-8")
    assert {"tussle.c", "tussle.h", "path.o_shipped", "Makefile"} == {
        file.name for file in (built_in / "tussle").iterdir()
    }


def test_a_kernel_with_another_driver_is_refused_with_the_command_that_links_it_anew(linux):
    kernel = build(linux).kernel
    refuse_other_driver(kernel)
    for facts in ({**kernel.facts, "driver_sha256": "0"}, {"release": "6.1.5"}):
        with pytest.raises(TussleError, match=r"built by another version of Tussle.*`tussle kernel build`"):
            refuse_other_driver(Kernel(kernel.image, facts))


def test_a_wanted_option_that_the_tree_lacks_is_recorded(linux):
    written(linux, Makefile=MAKEFILE.replace("GONE", "'CAKE\\|CDG'"))
    assert build(linux).kernel.facts["lacks"] == "TCP_CONG_CDG NET_SCH_CAKE"


def test_missing_tools_are_named_with_the_command_that_installs_them(linux, tmp_path, monkeypatch):
    (tmp_path / "tools/flex").unlink()
    (tmp_path / "tools/bc").unlink()
    (tmp_path / "tools/make").symlink_to(str(shutil.which("make")))
    monkeypatch.setenv("PATH", str(tmp_path / "tools"))
    assert "flex, bc must be installed: `apt-get install flex bc`" in refusal(linux)


def test_a_build_that_fails_shows_its_last_lines_and_its_log(linux, cache):
    written(linux, Makefile=MAKEFILE.replace("cp net/tcp.c", "echo error: no beta >&2; false"))
    with pytest.raises(TussleError, match="failed; its output is in") as failed:
        build(linux)
    assert "error: no beta\n" in failed.value.details
    assert "error: no beta\n" in (cache / "build.log").read_text("utf-8")
    assert kernel_names() == []


def test_too_little_disk_space_is_reported_before_anything_is_written(linux, cache, monkeypatch):
    monkeypatch.setattr(shutil, "disk_usage", lambda _: shutil._ntuple_diskusage(10, 9, 3 * 10**8))  # type: ignore[attr-defined]
    assert "takes 1.0 GB in" in refusal(linux)
    assert "0.3 GB are free; make room" in refusal(linux)
    assert not (cache / "tree").exists()


@pytest.mark.parametrize("name", ["../up", "a b", "", "-x"])
def test_a_name_that_is_no_file_name_is_refused(linux, name):
    if name:
        assert "a kernel cannot be named" in refusal(linux, name)
    else:
        assert build(linux, name).kernel.name == "linux"


def test_a_cache_that_the_makefile_refuses_is_refused_first(linux, tmp_path, monkeypatch):
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "my cache"))
    assert "refuses spaces and colons; set TUSSLE_CACHE" in refusal(linux)


@pytest.mark.parametrize(("system", "machine"), [("Darwin", "arm64"), ("Linux", "aarch64")])
def test_other_machines_are_refused(linux, monkeypatch, system, machine):
    monkeypatch.setattr("platform.system", lambda: system)
    monkeypatch.setattr("platform.machine", lambda: machine)
    assert f"this is {system} on {machine}" in refusal(linux)


def test_commands_that_need_linux_are_refused_elsewhere(tmp_path, monkeypatch):
    monkeypatch.setattr("tussle.kernel.agent.AGENT", tmp_path / "none")
    with pytest.raises(TussleError, match="installed without its agent; `make setup` builds it"):
        agent()
    monkeypatch.setattr("platform.system", lambda: "Darwin")
    with pytest.raises(TussleError, match=r"work on Linux only; this is Darwin: use the simulator"):
        agent()


# --- Debian's package ---


def test_the_package_is_fetched_once_where_it_is_not_installed(linux, tmp_path, monkeypatch):
    tarball = packed(linux, tmp_path / "linux-source-6.1.tar.xz")
    monkeypatch.setattr("tussle.kernel.debian._INSTALLED", tmp_path / "missing")
    stub(tmp_path / "tools/apt-get", "echo fetched >> ../count; touch linux-source-6.1_6.1.5-1_all.deb")
    stub(
        tmp_path / "tools/dpkg-deb",
        f'if [ $1 = --field ]; then echo 6.1.5-1; else mkdir -p "$3/usr/src"; cp {tarball} "$3/usr/src"; fi',
    )
    first, second = (debian_source("linux-source-6.1", tmp_path / "downloads") for _ in range(2))
    assert first.name == second.name == "linux-source-6.1 6.1.5-1"
    assert first.path.read_bytes() == tarball.read_bytes()
    assert (tmp_path / "downloads/count").read_text("utf-8") == "fetched\n"
    assert first.short_name == "linux-6.1"


def test_a_missing_package_is_reported_with_the_alternative(tmp_path, monkeypatch):
    monkeypatch.setattr("tussle.kernel.debian._INSTALLED", tmp_path / "none")
    stub(tmp_path / "tools/apt-get", "echo E: Unable to locate package >&2; exit 100")
    output_of = refusal(Path("linux-source-6.12"))
    assert "E: Unable to locate package; `apt-get update && apt-get install linux-source-6.12`" in output_of
    assert "--source linux-6.12.tar.xz" in output_of


def test_packages_are_offered_by_the_folder_of_sources_and_by_apt_oldest_first(tmp_path, monkeypatch):
    monkeypatch.setattr("tussle.kernel.debian._INSTALLED", tmp_path)
    (tmp_path / "linux-source-6.1.tar.xz").touch()
    (tmp_path / "linux-source-6.9.patch").touch()
    names = "linux-source-7.3 linux-source-6.12 linux-source-6.1 linux-source-6.12-dbgsym linux-source"
    stub(tmp_path / "tools/apt-cache", f"printf '%s\\n' {names}")
    assert offered_packages() == ["linux-source-6.1", "linux-source-6.12", "linux-source-7.3"]


def test_a_folder_goes_before_a_package_of_its_name(linux, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    linux.rename(tmp_path / "linux-source-6.12")
    assert build(Path("linux-source-6.12")).kernel.facts["source"] == str(tmp_path / "linux-source-6.12")


def stub(file: Path, script: str) -> None:
    file.write_text(f"#!/bin/sh\n{script}\n", "utf-8")
    file.chmod(0o755)


# --- the command ---


def test_the_command_prints_the_built_kernel_and_its_missing_options(linux, monkeypatch, capsys):
    written(linux, Makefile=MAKEFILE.replace("GONE", "CAKE"))
    assert output_of(monkeypatch, capsys, "kernel", "build", "--source", linux) == [
        f"linux is built: Linux 6.1.5, 250 Hz, from {linux}",
        f"  {cache_folder()}/built/linux/linux",
        "  the source lacks NET_SCH_CAKE: runs that need one of these are refused",
    ]
    again = output_of(monkeypatch, capsys, "kernel", "build", "--source", linux)
    assert again[0].startswith("linux was built already: ")
    [entry] = json.loads("\n".join(output_of(monkeypatch, capsys, "list", "kernels", "--json")))
    assert (entry["name"], entry["release"], entry["lacks"]) == ("linux", "6.1.5", "NET_SCH_CAKE")
    assert output_of(monkeypatch, capsys, "kernel", "remove", "linux") == []
    assert kernel_names() == []


def test_all_builds_a_kernel_from_each_package(linux, tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tussle.kernel.debian._INSTALLED", tmp_path)
    stub(tmp_path / "tools/apt-cache", "exit 0")
    stub(tmp_path / "tools/dpkg-query", "echo 1-1")
    for release in ("6.1", "6.12"):
        packed(linux, tmp_path / f"linux-source-{release}.tar.xz")
    built = output_of(monkeypatch, capsys, "kernel", "build", "--all")
    assert [line for line in built if line.startswith("linux")] == [
        f"linux-{release} is built: Linux 6.1.5, 250 Hz, from linux-source-{release} 1-1"
        for release in ("6.1", "6.12")
    ]


def test_without_packages_the_error_names_apt_get_update(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr("tussle.kernel.debian._INSTALLED", tmp_path)
    stub(tmp_path / "tools/apt-cache", "exit 0")
    assert output_of(monkeypatch, capsys, "kernel", "build", "--all", stream="err") == [
        "tussle: --all: no package linux-source-… is installed, and apt offers none; run `apt-get update` on "
        "Debian and its derivatives, elsewhere give --source"
    ]


def test_check_shows_the_findings_of_the_engine(linux, monkeypatch, capsys):
    class Engine:
        @staticmethod
        def check_kernel(kernel: Kernel) -> dict[str, str]:
            return {"version": kernel.facts["release"], "algorithms": "reno cubic"}

    monkeypatch.setitem(sys.modules, "tussle.engines.kernel", Engine)
    build(linux, "mine")
    assert output_of(monkeypatch, capsys, "kernel", "check", "--kernel", "mine") == [
        "version: 6.1.5",
        "algorithms: reno cubic",
    ]


def output_of(monkeypatch, capsys, *arguments: object, stream: str = "out") -> list[str]:
    monkeypatch.setattr(sys, "argv", ["tussle", *map(str, arguments)])
    with contextlib.suppress(SystemExit):
        main()
    return getattr(capsys.readouterr(), stream).splitlines()


# --- Debian's source ---


def test_the_kernel_of_debians_source_has_all_that_the_recipe_wants(kernel):
    assert kernel.facts["lacks"] == ""
    assert kernel.facts["release"].startswith("6.1.")


def test_debians_linux_takes_every_patch(kernel):
    assert {f"{patch.name}_patch_sha256": patch.digest for patch in patches()}.items() <= kernel.facts.items()
