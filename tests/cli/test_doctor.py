"""`tussle doctor`: what works on this machine, and what the rest needs."""

import json
from pathlib import Path
from typing import Any

import pytest


def found(tussle_: Any) -> dict[str, dict[str, Any]]:
    answer = tussle_("doctor", "--json")
    assert answer.status == 0
    return {each["part"]: each for each in json.loads(answer.out)}


def test_the_doctor_runs_the_simulator_and_names_what_is_missing(
    tussle_: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path))
    monkeypatch.setenv("PATH", str(tmp_path))
    parts = found(tussle_)
    assert parts["simulator"]["works"]
    # One second at 100 Mbit/s is 12.5 MB with headers.
    assert "carried 11." in parts["simulator"]["about"]
    assert not parts["kernel linux-6.1"]["works"]
    assert "`tussle kernel build` makes one" in parts["kernel linux-6.1"]["about"]
    assert not parts["tshark"]["works"]
    assert "`apt-get install tshark` installs it" in parts["tshark"]["about"]


def test_the_doctor_boots_each_kernel(tussle_: Any, kernel: Any):
    about = found(tussle_)[f"kernel {kernel.name}"]
    assert about["works"], about
    assert "boots, " in about["about"]


def test_the_doctor_prints_a_row_for_each_part(tussle_: Any, tmp_path: Path, monkeypatch: pytest.MonkeyPatch):
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path))
    answer = tussle_("doctor")
    assert answer.status == 0
    assert all(part in answer.out for part in ("simulator", "agent", "netns", "qemu", "kernel linux-6.1"))
