"""Instructions of the simulator per packet, and their bounds."""

import json
import platform
import re
import shutil
import tomllib
from dataclasses import replace
from pathlib import Path

import pytest

import instructions
import memory
import page
import training
import where
from bench import PARTS
from cases import COUNTED
from conftest import skip_or_fail
from engines import ROOT
from instructions import Counted, compiler, complaint, count, write_bounds
from tussle.catalog import catalog
from where import parts

CASE = COUNTED[0]


@pytest.mark.parametrize("case", COUNTED, ids=lambda case: case.name)
def test_instructions_per_packet_are_within_their_bounds(case):
    if platform.machine() != "x86_64":
        pytest.skip("the bounds are those of x86_64: another processor has other instructions")
    if shutil.which("valgrind") is None:
        skip_or_fail("there is no valgrind; `apt-get install valgrind` installs it")
    assert complaint(count(case)) == ""


def test_the_memory_of_a_flow_is_counted_by_a_test_that_exists():
    crate = ROOT / "crates" / "tussle-core"
    targets = {
        test["name"]: test["path"] for test in tomllib.loads((crate / "Cargo.toml").read_text())["test"]
    }
    assert f"mod {memory.MODULE};" in (crate / targets[memory.TARGET]).read_text().splitlines()


def test_a_wheel_is_optimised_for_every_algorithm():
    flows = [flow for run in training.runs() for flow in json.loads(run)["flows"]]
    assert {flow.get("algorithm") for flow in flows} >= set(catalog().algorithms)


def counted(per_packet: int) -> Counted:
    return Counted(CASE, 1000 * per_packet, 1000, Path("profile"))


@pytest.fixture
def bounds(tmp_path, monkeypatch) -> Path:
    monkeypatch.setattr(instructions, "BOUNDS", tmp_path / "bounds.toml")
    write_bounds([counted(1000)])
    return instructions.BOUNDS


@pytest.mark.parametrize(
    ("per_packet", "message"),
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
def test_a_count_above_or_below_its_bounds_is_reported(per_packet, message):
    complained = complaint(counted(per_packet))
    assert message in complained
    assert bool(message) == ("--write-bounds" in complained)


def test_another_compiler_has_wider_bounds_and_is_named(bounds):
    bounds.write_text(bounds.read_text().replace(compiler(), "1.0.0 x86_64"))
    assert complaint(counted(1149)) == ""
    assert f"(by {compiler()}; the bound is of 1.0.0 x86_64)" in complaint(counted(1151))


@pytest.mark.usefixtures("bounds")
def test_a_case_without_a_bound_is_reported():
    complained = complaint(replace(counted(1000), case=replace(CASE, name="another")))
    assert complained.startswith("another: has no bound in bounds.toml; write it: ")


def test_the_page_shows_every_part_that_is_measured():
    assert sorted(page.names(page.PAGE.read_text("utf-8"))) == sorted(PARTS)


def test_new_measurements_replace_only_their_table():
    found = {"memory": {"machine": "a machine", "rounds": 2, "found": [{"what": "a flow", "bytes": 3210}]}}
    text = "before\n<!-- measured: {} -->\n{}\n<!-- end -->\nafter\n"
    both = text.format("memory", "old") + text.format("sweeps", "kept")
    table = "\n| memory of | bytes |\n| --- | --- |\n| a flow | 3,210 |\n\n*a machine; 2 rounds.*\n"
    expected = text.format("memory", table) + text.format("sweeps", "kept")
    once = page.filled(both, found)
    assert once == expected
    assert page.filled(once, found) == once


def test_each_part_of_a_profile_has_source_files():
    sources = [f"/{file.relative_to(ROOT)}" for file in (ROOT / "crates" / "tussle-core").rglob("*.rs")]
    found = {part: any(re.search(pattern, each) for each in sources) for part, pattern in where.PARTS.items()}
    assert [part for part, has_files in found.items() if not has_files] == []


def test_a_profile_assigns_instructions_to_source_files(tmp_path):
    profile = tmp_path / "callgrind.out"
    profile.write_text(PROFILE)
    assert parts(profile) == {"the loop": 100 + 7, "sender": 30, "all else": 11}


PROFILE = """\
version: 1
events: Ir

fl=(1) /crates/tussle-core/src/sim/mod.rs
fn=(1) tussle_core::sim::Simulation::advance
12 100
fi=(2) /crates/tussle-core/src/tcp/sender/input.rs
+3 30
fi=(3) /library/core/src/cmp.rs
* 7
fe=(1)
cfi=(4) /somewhere/malloc.c
cfn=(2) malloc
calls=2 40
-2 11

fl=(4)
fn=(2)
40 11

totals: 148
"""
