"""The registry of engines."""

import pytest

from tussle.engines import engine, names
from tussle.errors import TussleError


def test_an_engine_has_the_name_of_its_file() -> None:
    assert "sim" in names()
    assert all(engine(name).name == name for name in names())


def test_every_engine_reports_its_version() -> None:
    for name in names():
        assert {"name", "version"} <= set(engine(name).about())


@pytest.mark.parametrize("name", ["simm", "json", "../sim", "__init__", ""])
def test_an_unknown_engine_is_refused_with_the_available_ones(name: str) -> None:
    with pytest.raises(TussleError, match=r"unknown engine .*sim"):
        engine(name)
