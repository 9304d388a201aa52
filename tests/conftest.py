"""Puts this folder on the import path, for the helpers that several tests share; and what tests are given."""

import os
from pathlib import Path
from typing import NoReturn

import pytest

from tussle.errors import TussleError
from tussle.kernel import Kernel, built_kernel


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
