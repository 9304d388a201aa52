"""Fixtures for all tests, and the marker of slow tests. Shared modules are in `support`."""

import os
import sys
from pathlib import Path
from typing import NoReturn

# Several workers share the cores, and tables of tests are small. Polars reads this when it is imported.
os.environ.setdefault("POLARS_MAX_THREADS", "1")

import pytest
from hypothesis import HealthCheck, settings

from commandline import Answer
from tussle.cli import main
from tussle.errors import TussleError
from tussle.kernel import Kernel, built_kernel

pytest_plugins = ["in_a_page"]

SLOW = {
    "test_bbr_draft",
    "test_cli",
    "test_cluster",
    "test_compare_along",
    "test_docs",
    "test_ends",
    "test_hosts",
    "test_kernels_beside_each_other",
    "test_lessons",
    "test_markdown",
    "test_mutated_datasets",
    "test_mutated_files",
    "test_mutated_records",
    "test_mutated_scenarios",
    "test_netns",
    "test_notebook",
    "test_paper",
    "test_places",
    "test_power_cut",
    "test_ready_scenarios",
    "test_recordings",
    "test_report_in_a_browser",
    "test_rfc9743",
    "test_scenario_mangled",
    "test_send_hostile",
    "test_serve",
    "test_serve_claims",
    "test_serve_floods",
    "test_site",
    "test_speed",
    "test_strangers",
    "test_studies",
    "test_studio",
    "test_suite_files",
    "test_sweep",
    "test_variants",
    "test_what_if",
    "test_wheel",
    "test_worst",
}
"""Test files that start other programs or simulate for long: `make check` omits them."""


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark slow tests: those in `SLOW`, and those that boot a kernel; pages of the documentation come first.

    Near the end, such long tests would leave the other workers idle.
    """
    items.sort(key=lambda item: item.path.stem != "test_docs")
    for item in items:
        if item.path.stem in SLOW or "kernel" in getattr(item, "fixturenames", ()):
            item.add_marker("slow")


# How fast a loaded machine makes examples says nothing about what is tested.
settings.register_profile("random", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("same", settings.get_profile("random"), derandomize=True)
settings.load_profile("same")


@pytest.fixture(scope="session")
def kernel() -> Kernel:
    """The kernel that `make test` built; without one the test is skipped, or fails where none may be."""
    try:
        return built_kernel()
    except TussleError as error:
        skip_or_fail(str(error))


@pytest.fixture(scope="session")
def kernel_source() -> Path:
    """Debian's package with the kernel's source, installed."""
    tarball = Path("/usr/src/linux-source-6.1.tar.xz")
    if not tarball.exists():
        skip_or_fail(f"there is no {tarball}; `apt-get install linux-source-6.1` installs it")
    return tarball


def skip_or_fail(reason: str) -> NoReturn:
    if os.environ.get("TUSSLE_REQUIRE_KERNEL") == "1":
        pytest.fail(reason)
    pytest.skip(reason)


@pytest.fixture
def tussle_(capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch, tmp_path: Path):
    """Call the command in this process, from an empty folder."""
    monkeypatch.chdir(tmp_path)
    # pytest-xdist gives its workers the width of its own terminal.
    monkeypatch.delenv("COLUMNS", raising=False)
    # Click would call the command `python -m pytest` after the module that Python executes.
    monkeypatch.setattr(sys.modules["__main__"], "__package__", None, raising=False)

    def call(*arguments: object) -> Answer:
        monkeypatch.setattr(sys, "argv", ["tussle", *map(str, arguments)])
        status = 0
        try:
            main()
        except SystemExit as left:
            status = left.code if isinstance(left.code, int) else 0
        printed = capsys.readouterr()
        return Answer(status, printed.out, printed.err)

    return call
