"""The page on default hosts agrees with its data file, and its settings are those of the profile."""

import csv
import importlib
from pathlib import Path
from types import ModuleType

import pytest

ROOT = Path(__file__).parent.parent


@pytest.fixture
def page(monkeypatch: pytest.MonkeyPatch) -> ModuleType:
    monkeypatch.syspath_prepend(ROOT / "tools")
    return importlib.import_module("host_defaults")


def test_the_table_of_the_page_equals_the_data_file(page: ModuleType):
    text = page.PAGE.read_text("utf-8")
    assert page.filled(text) == text


def test_every_default_that_differs_was_measured(page: ModuleType):
    with page.RESULTS.open(encoding="utf-8", newline="") as file:
        measured = {row["setting"] for row in csv.DictReader(file)}
    assert measured == {page.named(settings) for settings in page.settings_that_differ()}


def test_all_defaults_change_little_in_the_median_cell_and_half_in_one_of_twenty(page: ModuleType):
    with page.RESULTS.open(encoding="utf-8", newline="") as file:
        found = {(row["setting"], row["quantity"]): row for row in csv.DictReader(file)}
    goodput = found["hosts.profile = linux-6.1", "goodput_mbit_per_s"]
    assert float(goodput["median"]) < 0.02
    assert float(goodput["p95"]) == pytest.approx(0.5, abs=0.05)
    queue = [row for (setting, _), row in found.items() if setting == "hosts.qdisc = fq_codel"]
    assert [row["p95"] for row in queue] == ["0"] * 4
