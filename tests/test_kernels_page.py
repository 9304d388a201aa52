"""The page on kernels says what its files hold, and its conclusions follow from them."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("kernels_page")


def goodputs(row: dict[str, str]) -> list[float]:
    return [float(value) for column, value in row.items() if column.endswith("_mbit_per_s")]


def test_the_tables_are_those_of_the_files(page: ModuleType):
    text = page.PAGE.read_text("utf-8")
    assert page.filled(text) == text


def test_the_largest_change_is_of_reno_joined_by_cubic_and_came_before_6_12(page: ModuleType):
    changed = [row for row in page.read("dsl") if row["verdict"] == "real"]
    largest = {
        kernel: max((row for row in changed if row["kernel"] == kernel), key=page._part)
        for kernel in ("linux-6.12", "linux-7.3")
    }
    assert {(row["first"], row["joins"]) for row in largest.values()} == {("reno", "cubic")}
    after = [float(row["goodput_mbit_per_s"]) for row in largest.values()]
    assert after[0] == pytest.approx(after[1], abs=0.05)


def test_the_clamp_is_what_makes_the_difference(page: ModuleType):
    """Distances of the kernels with one change from those without, in the largest of the four goodputs."""
    found = {(row["kernel"], row["change"]): goodputs(row) for row in page.read("one-change")}

    def apart(one: tuple[str, str], other: tuple[str, str]) -> float:
        return max(abs(a - b) for a, b in zip(found[one], found[other], strict=True))

    old, new = ("6.1", "none"), ("6.12", "none")
    with_clamp = ("6.1", "window from the measured ratio, and its clamp set anew with the ratio")
    without_clamp = ("6.12", "clamp not set anew")
    assert apart(without_clamp, old) < apart(without_clamp, new)
    assert apart(with_clamp, new) < apart(old, new)
    assert found[with_clamp][2:] == pytest.approx(found[new][2:], abs=0.05)
    assert found["6.1", "window from the measured ratio"] == found["6.1", "RTT longer by 1 µs"]


@pytest.mark.parametrize(
    ("runs", "most"), [("240 s, measured from 60 s", 0.1), ("60 s, starts within 2 s", 0.5)]
)
def test_longer_runs_and_starts_further_apart_bring_the_kernels_together(
    page: ModuleType, runs: str, most: float
):
    old, new = (goodputs(row) for row in page.read("longer") if row["runs"] == runs)
    assert new == pytest.approx(old, abs=most)
