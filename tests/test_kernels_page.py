"""The page on kernels agrees with its data files, and its conclusions follow from them."""

import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("kernels_page")


def test_the_tables_of_the_page_equal_the_data_files(page: ModuleType):
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


def test_over_lan_only_flows_that_bbr_joins_change_and_only_on_7_3(page: ModuleType):
    changed = [row for row in page.read("lan") if row["verdict"] == "real"]
    assert {row["kernel"] for row in changed} == {"linux-7.3"}
    assert {(row["first"], row["joins"], row["flow"]) for row in changed} == {
        (first, "bbr", "first") for first in ("reno", "cubic", "htcp", "westwood")
    }
    before, after = (
        [float(row[column]) for row in changed]
        for column in ("goodput_before_mbit_per_s", "goodput_mbit_per_s")
    )
    assert all(1.09 < new / old < 1.21 for new, old in zip(after, before, strict=True))


def test_over_lte_each_change_may_be_chance(page: ModuleType):
    rows = page.read("lte")
    changed = [row for row in rows if row["verdict"] == "real"]
    assert len({(row["first"], row["joins"]) for row in changed}) == 3
    nearest = (min(abs(float(row[f"{edge}_mbit_per_s"])) for edge in ("low", "high")) for row in changed)
    assert all(distance < 0.1 for distance in nearest)


def test_over_lte_pairs_without_bbr_do_not_change_from_6_12_to_7_3_but_one(page: ModuleType):
    old, new = (
        {
            (row["first"], row["joins"], row["flow"]): row["goodput_mbit_per_s"]
            for row in page.read("lte")
            if row["kernel"] == kernel
        }
        for kernel in ("linux-6.12", "linux-7.3")
    )
    changed = {
        (first, joins) for first, joins, flow in old if old[first, joins, flow] != new[first, joins, flow]
    }
    assert {pair for pair in changed if "bbr" not in pair} == {("htcp", "westwood")}
    assert sum(old[result] == new[result] for result in old) == 48


def test_without_replacing_the_clamp_6_12_agrees_with_6_1(page: ModuleType):
    found = {(row["kernel"], row["change"]): row for row in page.read("one-change")}
    old, new = found["6.1", "none"], found["6.12", "none"]
    kept = found["6.12", "the ratio does not replace the clamp"]
    replaced = found["6.1", "window from the measured ratio, which replaces the clamp"]
    for which in ("reno_first", "reno_joins"):
        before, after, without, with_it = (
            float(row[f"{which}_mbit_per_s"]) for row in (old, new, kept, replaced)
        )
        assert after < before
        assert abs(without - before) < abs(without - after)
        assert with_it < before
    assert (
        found["6.1", "window from the measured ratio"]["reno_joins_mbit_per_s"]
        == old["reno_joins_mbit_per_s"]
    )


def test_the_delay_of_the_sacks_of_bbr_explains_what_changes_over_lan(page: ModuleType):
    shorter = "delay of 5 % of the RTT"
    old = {("6.12", "none"), ("7.3", shorter), ("7.3", f"{shorter}, for the BBR flow only")}
    new = {
        ("6.12", "delay of 33 % of the RTT"),
        ("7.3", "none"),
        ("7.3", f"{shorter}, for the first flow only"),
        ("7.3", "slack of the timer of 100 µs, as on 6.12"),
    }
    found = {(row["kernel"], row["change"]): row for row in page.read("sack-delay")}
    for flow in ("reno", "cubic"):
        means, halves = (
            {kernel: float(row[f"{flow}{part}_mbit_per_s"]) for kernel, row in found.items()}
            for part in ("", "_half_interval")
        )
        highest, lowest = max(old, key=means.__getitem__), min(new, key=means.__getitem__)
        assert means[lowest] - means[highest] > max(halves[lowest], halves[highest])
        for same in (old, new):
            spread = max(map(means.__getitem__, same)) - min(map(means.__getitem__, same))
            assert spread < max(map(halves.__getitem__, same))


def test_without_packet_conservation_the_delay_matters_less_to_bbr(page: ModuleType):
    found = {(row["kernel"], row["change"]): row for row in page.read("sack-delay")}
    free, shorter = "BBR without packet conservation", "delay of 5 % of the RTT"
    for flow in ("reno", "cubic"):
        as_is, as_is_shorter, without, without_shorter = (
            float(found["7.3", change][f"{flow}_mbit_per_s"])
            for change in ("none", shorter, free, f"{free}, {shorter}")
        )
        assert without < as_is
        assert without - without_shorter < (as_is - as_is_shorter) / 3


def test_all_differences_have_one_sign_and_over_240_s_none_is_shown(page: ModuleType):
    rows = page.read("longer")
    assert all(float(row["difference_mbit_per_s"]) < 0 for row in rows)
    assert all(float(row["high_mbit_per_s"]) > 0 for row in rows if "240 s" in row["runs"])
