"""Guests on hosts with AMX, whose processes have 11 008 bytes of floating-point state.

`amx_host.c` makes such a host of any other: the guest's kernel, a program that is linked dynamically, gets
its answers to `ptrace`.
"""

import shutil
import subprocess
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path

import polars as pl
import pytest

from conftest import skip_or_fail
from tussle.engines.kernel import KernelEngine
from tussle.errors import TussleError
from tussle.kernel import Kernel, guest, kernel_names
from tussle.kernel.boot import boot
from tussle.kernel.guest import UserMode
from tussle.kernel.host import refuse_host
from tussle.scenario import Scenario

pytestmark = pytest.mark.usefixtures("kernel")

CONSTANT_BYTES = 2696
"""State that user-mode Linux saves before 6.13 without our patch."""


@pytest.fixture
def amx_host(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let guests see a host with AMX."""
    compiler = shutil.which("cc")
    if compiler is None:
        skip_or_fail("there is no cc, which builds kernels, too")
    library = tmp_path / "amx_host.so"
    source = Path(__file__).with_name("amx_host.c")
    subprocess.run([compiler, "-shared", "-fPIC", "-o", library, source], check=True)

    def with_library(
        command: Sequence[str],
        output: Path,
        expired: Callable[[int], str | None],
        processor: int | None,
    ) -> int | str:
        # A confined guest loads libraries from its own folder, and from those of the system.
        seen_by_guest = shutil.copy(library, output.parent)
        return boot(["env", f"LD_PRELOAD={seen_by_guest}", *command], output, expired, processor)

    monkeypatch.setattr(guest, "boot", with_library)


def executed(kernel: str | None = None) -> Mapping[str, pl.DataFrame]:
    path = {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}}
    flows = [{"algorithm": "cubic"}, {"algorithm": "reno"}]
    scenario = {"duration": "2 s", "path": path, "repetitions": 1, "flows": flows}
    [planned, *_] = Scenario.from_dict(scenario).runs()
    return KernelEngine(UserMode(kernel)).execute(planned.run)


def with_state_of(size: int, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the guest save `size` bytes, whatever its host reports."""
    monkeypatch.setattr(guest, "_BOOT", [*guest._BOOT, f"xstate={size}"])


def equal(tables: Mapping[str, pl.DataFrame], others: Mapping[str, pl.DataFrame]) -> bool:
    return tables.keys() == others.keys() and all(tables[name].equals(others[name]) for name in tables)


@pytest.mark.parametrize("kernel_name", ["linux-6.1", "linux-6.12"])
def test_a_host_with_amx_gives_the_same_bytes(kernel_name: str, request: pytest.FixtureRequest):
    """Each built kernel asks its host for the size."""
    if kernel_name not in kernel_names():
        skip_or_fail(f"{kernel_name} is not built")
    usual = executed(kernel_name)
    request.getfixturevalue("amx_host")
    assert equal(executed(kernel_name), usual)


@pytest.mark.usefixtures("amx_host")
def test_a_host_with_amx_ends_a_guest_that_saves_the_constant_of_user_mode_linux(
    monkeypatch: pytest.MonkeyPatch,
):
    """The defect that the patch removes; it also shows that the tests above have a host with AMX."""
    with_state_of(CONSTANT_BYTES, monkeypatch)
    with pytest.raises(TussleError, match=r"less floating-point state than the [0-9]+ bytes") as raised:
        executed()
    assert raised.value.details == ""


def test_a_guest_with_the_state_of_amx_gives_the_same_bytes_on_any_host(monkeypatch: pytest.MonkeyPatch):
    """A host with less state transfers as many of the 11 008 bytes as it has."""
    usual = executed()
    with_state_of(11_008, monkeypatch)
    assert equal(executed(), usual)


def test_a_guest_that_saves_less_state_than_the_host_ends_with_one_sentence(monkeypatch: pytest.MonkeyPatch):
    """The legacy area and the header, 576 bytes, are less than any host with AVX has."""
    with_state_of(576, monkeypatch)
    with pytest.raises(TussleError, match=r"less floating-point state than the [0-9]+ bytes") as raised:
        executed()
    assert raised.value.details == ""


def test_a_kernel_without_the_patch_is_refused_where_the_host_has_amx(
    kernel: Kernel, monkeypatch: pytest.MonkeyPatch
):
    unpatched = {fact: value for fact, value in kernel.facts.items() if "patch" not in fact}
    monkeypatch.setattr("tussle.kernel.host.host_state_bytes", lambda: 11_008)
    refuse_host(Kernel(kernel.image, unpatched | {"release": "6.13.0"}))
    refuse_host(kernel)
    expected = r"saves 2696 bytes .* and this host has 11008 \(AMX\); `tussle kernel build`"
    with pytest.raises(TussleError, match=expected):
        refuse_host(Kernel(kernel.image, unpatched | {"release": "6.12.95"}))
