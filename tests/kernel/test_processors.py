"""The processors of guests."""

import os
import sys
from pathlib import Path

import pytest

from tussle.kernel.boot import ProcessorTime, boot
from tussle.kernel.processors import confined_to, one_processor

ALLOWED = os.sched_getaffinity(0)


@pytest.fixture(autouse=True)
def _cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "cache"))


def test_a_guest_stays_on_the_processor_that_is_given(tmp_path: Path):
    [processor, *_] = sorted(ALLOWED, reverse=True)
    program = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    assert boot(program, tmp_path / "output", ProcessorTime(60, 60), processor) == 0
    assert (tmp_path / "output").read_text("utf-8").strip() == str({processor})
    assert os.sched_getaffinity(0) == ALLOWED


def test_guests_have_different_processors_until_each_has_one():
    reserved = [one_processor() for _ in ALLOWED]
    assert {each.__enter__() for each in reserved} == ALLOWED
    with one_processor() as none_left:
        assert none_left is None
    reserved[0].__exit__(None, None, None)
    with one_processor() as free_again:
        assert free_again in ALLOWED
    for each in reserved[1:]:
        each.__exit__(None, None, None)


def test_a_process_that_may_use_one_processor_reserves_that_one():
    [processor, *_] = sorted(ALLOWED)
    with confined_to(processor), one_processor() as reserved:
        assert reserved == processor


def test_without_a_place_for_locks_a_guest_may_use_every_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "file"))
    with one_processor() as processor:
        assert processor is None
