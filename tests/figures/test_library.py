"""The library of pages is put together once, and kept in the cache."""

from importlib.metadata import version
from pathlib import Path

import pytest
import vl_convert

from tussle.figures import library


@pytest.fixture
def cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> Path:
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "cache"))
    return tmp_path / "cache"


@pytest.fixture
def bundled(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """The calls that put a library together, which takes more than a second."""
    calls: list[str] = []

    def bundle(text: str) -> str:
        calls.append(text)
        return "the library"

    monkeypatch.setattr(vl_convert, "javascript_bundle", bundle)
    return calls


def made() -> str:
    """Return the library as a new process does."""
    library.cache_clear()
    try:
        return library()
    finally:
        library.cache_clear()


def test_the_second_process_reads_what_the_first_has_put_together(cache: Path, bundled: list[str]):
    assert [made(), made()] == ["the library", "the library"]
    assert len(bundled) == 1
    assert [file.name for file in cache.iterdir()] == [f"vega-{version('vl-convert-python')}.js.gz"]


@pytest.mark.parametrize(
    "damage", [lambda whole: whole[:0], lambda whole: whole[:-9], lambda whole: whole[:12] + b"?" * 9]
)
def test_a_damaged_file_of_the_cache_is_replaced(cache: Path, bundled: list[str], damage):
    made()
    [kept] = cache.iterdir()
    whole = kept.read_bytes()
    kept.write_bytes(damage(whole))
    assert [made(), made()] == ["the library", "the library"]
    assert len(bundled) == 2


def test_a_cache_that_cannot_be_written_changes_nothing(cache: Path, bundled: list[str]):
    cache.write_text("a file where the folder would be")
    assert [made(), made()] == ["the library", "the library"]
    assert len(bundled) == 2
