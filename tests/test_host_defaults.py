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
