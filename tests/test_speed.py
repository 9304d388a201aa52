"""The simulator does not become dearer unseen: instructions a packet, and their bounds."""

import platform
import shutil
from dataclasses import replace
from pathlib import Path

import pytest

import instructions
from cases import COUNTED
from conftest import skip_or_fail
from instructions import Counted, compiler, complaint, count, write_bounds

CASE = COUNTED[0]


@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case.name)
def test_a_packet_takes_the_instructions_that_it_took(case):
    if platform.machine() != "x86_64":
        pytest.skip("the bounds are those of x86_64: another processor has other instructions")
    if shutil.which("valgrind") is None:
        skip_or_fail("there is no valgrind; `apt-get install valgrind` installs it")
    assert complaint(count(case)) == ""


def counted(per_packet: int) -> Counted:
    return Counted(CASE, 1000 * per_packet, 1000, Path("profile"))


@pytest.fixture
def bounds(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(instructions, "BOUNDS", tmp_path / "bounds.toml")
    write_bounds([counted(1000)])
    return instructions.BOUNDS


@pytest.mark.parametrize(
    ("per_packet", "said"),
    [
        (971, ""),
        (1029, ""),
        (
            1031,
            "1,031.0 instructions a data packet, 3.1% more than 1,000.0 in bounds.toml; if that is worth it",
        ),
        (
            969,
            "969.0 instructions a data packet, 3.1% fewer than 1,000.0 in bounds.toml; store it, so that it",
        ),
    ],
)
@pytest.mark.usefixtures("bounds")
def test_a_count_beyond_its_bound_is_told_up_and_down(per_packet, said):
    complained = complaint(counted(per_packet))
    assert said in complained
    assert bool(said) == ("--write-bounds" in complained)


def test_another_compiler_has_more_room_and_is_named(bounds):
    bounds.write_text(bounds.read_text().replace(compiler(), "1.0.0 x86_64"))
    assert complaint(counted(1149)) == ""
    assert f"(by {compiler()}; the bound is of 1.0.0 x86_64)" in complaint(counted(1151))


@pytest.mark.usefixtures("bounds")
def test_a_case_without_a_bound_is_told():
    complained = complaint(replace(counted(1000), case=replace(CASE, name="another")))
    assert complained.startswith("another: has no bound in bounds.toml; write it: ")
