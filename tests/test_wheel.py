"""The wheel that `make wheel` built is complete, and works in an empty environment without the checkout."""

import json
import os
import re
import shutil
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import pytest

from cases import COUNTED

ROOT = Path(__file__).parent.parent
PACKAGE = ROOT / "python" / "tussle"
DIST = ROOT / "dist"
BUILT = {"_agent", "_driver.o", "_core.abi3.so", "_core.abi3.pyd"}
"""Files of the package that are compiled, and not in the repository."""
TIMEOUT_S = 900


@pytest.fixture(scope="module")
def wheel() -> Path:
    """The wheel that `make test-wheel` built; one that is there without it may be older than the code."""
    if os.environ.get("TUSSLE_REQUIRE_WHEEL") != "1":
        pytest.skip("building and installing a wheel takes minutes and a network: `make test-wheel` does it")
    (built,) = DIST.glob("tussle-*.whl")
    return built


def needed() -> set[str]:
    """Every file that the installed package needs, also those behind symbolic links to other folders."""
    linked = {
        "scenarios": "scenarios",
        "papers": "papers/studies",
        "suites": "suites/data",
        "kernel": "kernel/recipe",
    }
    command = ["git", "ls-files", "--cached", "--others", "--exclude-standard", "python", *linked]
    listed = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)
    files = set()
    for name in listed.stdout.splitlines():
        folder, _, rest = name.partition("/")
        if (ROOT / name).is_symlink() or not (ROOT / name).exists() or name.endswith("README.md"):
            continue
        files.add(f"tussle/{linked[folder]}/{rest}" if folder in linked else rest)
    return files


def test_the_wheel_has_every_file_of_the_package_and_of_the_folders_it_links_to(wheel: Path):
    names = set(zipfile.ZipFile(wheel).namelist())
    assert needed() - names == set()


def test_the_wheel_has_the_simulator_for_every_python_and_for_pages_and_the_agent_of_linux(wheel: Path):
    names = {Path(name).name for name in zipfile.ZipFile(wheel).namelist()}
    assert "-abi3-" in wheel.name
    assert names & {"_core.abi3.so", "_core.abi3.pyd"}
    assert "_simulator.wasm.gz" in names
    if "linux" in wheel.name:
        assert {"_agent", "_driver.o"} <= names


def test_the_wheel_installs_the_manual_page(wheel: Path):
    opened = zipfile.ZipFile(wheel)
    [page] = [name for name in opened.namelist() if name.endswith(".data/data/share/man/man1/tussle.1")]
    stored = ROOT / "packaging" / page.partition(".data/")[2]
    assert opened.read(page) == stored.read_bytes()


def test_the_source_distribution_has_every_file_of_the_package(wheel: Path):
    (archive,) = wheel.parent.glob("tussle-*.tar.gz")
    with tarfile.open(archive) as opened:
        names = {name.partition("/")[2] for name in opened.getnames()}
    assert {f"python/{name}" for name in needed()} - names == set()
    assert "packaging/data/share/man/man1/tussle.1" in names
    assert {"Cargo.lock", "crates/tussle-core/Cargo.toml", "LICENSE-MIT", "LICENSE-APACHE"} <= names


@pytest.fixture(scope="module")
def installed(wheel: Path, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of programs of an empty environment, in which only the wheel is installed."""
    folder = tmp_path_factory.mktemp("wheel") / "venv"
    subprocess.run([sys.executable, "-m", "venv", folder], check=True)
    pip = [folder / "bin" / "python", "-m", "pip", "install", "--quiet", "--disable-pip-version-check"]
    subprocess.run([*pip, wheel], check=True, timeout=TIMEOUT_S)
    return folder / "bin"


def call(installed: Path, folder: Path, *command: str) -> str:
    """Call a program of the environment, without the checkout and without the programs that build Tussle."""
    own = {"PATH": f"{installed}:/usr/bin:/bin", "HOME": str(folder)}
    done = subprocess.run(
        [installed / command[0], *command[1:]],
        cwd=folder, env=own, capture_output=True, text=True, timeout=TIMEOUT_S, check=False,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


def test_an_installed_wheel_compares_algorithms_and_writes_a_report(installed: Path, tmp_path: Path):
    options = ("--profile", "dsl", "--duration", "20 s", "--stagger", "2 s")
    printed = call(
        installed, tmp_path, "tussle", "matrix", "--algorithms", "reno,cubic", *options, "-o", "out"
    )
    assert "report: out/report.html" in printed
    assert (tmp_path / "out" / "report.html").stat().st_size > 0


def test_an_installed_wheel_is_not_the_checkout(installed: Path, tmp_path: Path):
    where = call(installed, tmp_path, "python", "-c", "import tussle; print(tussle.__file__)")
    assert Path(where.strip()).is_relative_to(installed.parent)


@pytest.mark.parametrize(
    "what", ["scenarios", "papers", "suites", "profiles", "host-profiles", "metrics", "figures"]
)
def test_an_installed_wheel_has_the_same_lists_as_the_checkout(
    installed: Path, tmp_path: Path, what, tussle_
):
    names = [
        entry["name"] for entry in json.loads(call(installed, tmp_path, "tussle", "list", what, "--json"))
    ]
    assert names
    assert names == [entry["name"] for entry in json.loads(tussle_("list", what, "--json").out)]


def test_an_installed_wheel_has_the_recipe_of_the_kernel_and_the_agent(installed: Path, tmp_path: Path):
    code = (
        "from tussle.kernel.configuration import Recipe; from tussle.kernel.agent import agent;"
        "import subprocess; print(Recipe(100).digest());"
        "print(subprocess.run([agent()], capture_output=True, text=True).stderr)"
    )
    digest, usage, *_ = call(installed, tmp_path, "python", "-c", code).splitlines()
    assert usage.startswith("usage: tussle-agent")
    from tussle.kernel.configuration import Recipe

    assert digest == Recipe(100).digest()


def test_simulator_and_agent_of_an_installed_wheel_work(installed: Path, tmp_path: Path):
    found = {
        each["part"]: each for each in json.loads(call(installed, tmp_path, "tussle", "doctor", "--json"))
    }
    assert found["simulator"]["works"], found["simulator"]
    assert found["agent"]["works"], found["agent"]


def instructions_per_packet(package: Path) -> float:
    """What the simulator of a package executes for each further packet of one flow."""
    one_flow = next(case for case in COUNTED if case.name == "one flow")
    valgrind = [shutil.which("valgrind") or "", "--tool=callgrind", "--callgrind-out-file=/dev/null"]
    found = []
    for duration_s in (5.0, 10.0):
        done = subprocess.run(
            [*valgrind, sys.executable, ROOT / "benches" / "execute.py"],
            env=os.environ | {"PYTHONPATH": str(package)}, input=one_flow.lasting(duration_s).run_json(),
            capture_output=True, text=True, timeout=TIMEOUT_S, check=True,
        )  # fmt: skip
        [instructions] = re.findall(r"Collected : (\d+)", done.stderr)
        found.append((int(instructions), json.loads(done.stdout)["delivered_packets"]))
    (begun, first), (ended, last) = found
    return (ended - begun) / (last - first)


@pytest.mark.skipif(shutil.which("valgrind") is None, reason="valgrind counts instructions: install it")
def test_the_profile_of_the_wheel_spares_a_twelfth_of_the_instructions(wheel: Path, tmp_path: Path):
    shutil.unpack_archive(wheel, tmp_path, "zip")
    assert instructions_per_packet(tmp_path) < 11 / 12 * instructions_per_packet(ROOT / "python")
