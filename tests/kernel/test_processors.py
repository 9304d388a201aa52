"""The processors of guests."""

import os
import sys
from contextlib import ExitStack, nullcontext
from pathlib import Path

import pytest

from tussle.engines.kernel import KernelEngine
from tussle.kernel import guest
from tussle.kernel.boot import ProcessorTime, boot
from tussle.kernel.processors import confined_to, one_processor
from tussle.scenario import Scenario

ALLOWED = os.sched_getaffinity(0)


@pytest.fixture
def cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """Without locks of other tests."""
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "cache"))


def test_a_guest_stays_on_the_processor_that_is_given(tmp_path: Path):
    [processor, *_] = sorted(ALLOWED, reverse=True)
    program = [sys.executable, "-c", "import os; print(os.sched_getaffinity(0))"]
    assert boot(program, tmp_path / "output", ProcessorTime(60, 60), processor) == 0
    assert (tmp_path / "output").read_text("utf-8").strip() == str({processor})
    assert os.sched_getaffinity(0) == ALLOWED


@pytest.mark.usefixtures("cache")
def test_guests_have_different_processors_until_one_is_left():
    *others, left = sorted(ALLOWED)
    with ExitStack() as all_reserved:
        first = one_processor()
        processors = [first.__enter__()]
        processors += [all_reserved.enter_context(one_processor()) for _ in others[1:]]
        assert {*processors} == {*others, *([] if others else [None])}
        with one_processor() as none_left:
            assert none_left is None
        first.__exit__(None, None, None)
        with one_processor() as free_again:
            assert free_again == processors[0]
            assert free_again != left


@pytest.mark.usefixtures("cache")
def test_a_process_that_may_use_one_processor_leaves_it():
    [processor, *_] = sorted(ALLOWED)
    with confined_to(processor), one_processor() as reserved:
        assert reserved is None


def test_without_a_place_for_locks_a_guest_may_use_every_processor(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    (tmp_path / "file").touch()
    monkeypatch.setenv("TUSSLE_CACHE", str(tmp_path / "file"))
    with one_processor() as processor:
        assert processor is None


@pytest.mark.usefixtures("kernel")
def test_a_guest_gives_the_same_bytes_on_one_processor_and_on_all(monkeypatch: pytest.MonkeyPatch):
    tables = {
        "duration": "2 s",
        "path": {"rate": "10 Mbit/s", "rtt": "20 ms"},
        "flows": [{"algorithm": "cubic"}],
    }
    [planned] = Scenario.from_dict(tables).runs()
    kept = KernelEngine().execute(planned.run)
    monkeypatch.setattr(guest, "one_processor", nullcontext)
    moved = KernelEngine().execute(planned.run)
    assert all(kept[name].equals(moved[name]) for name in kept)
