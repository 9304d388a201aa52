"""Limits of guests."""

import sys
from pathlib import Path

import pytest

from tussle.kernel.boot import ProcessorTime, boot

UNTIL_STOPPED = [sys.executable, "-S", "-c"]


def test_a_guest_that_computes_without_an_end_is_stopped_by_its_processor_time(tmp_path: Path):
    end = boot(
        [*UNTIL_STOPPED, "from select import select\nwhile not select([0], [], [], 0)[0]: pass"],
        tmp_path / "output",
        ProcessorTime(0.3, 60.0),
    )
    assert end == "was stopped after 0 s of processor time"


def test_a_guest_that_waits_for_nothing_is_stopped(tmp_path: Path):
    end = boot(
        [*UNTIL_STOPPED, "from select import select; select([0], [], [])"],
        tmp_path / "output",
        ProcessorTime(60.0, idle_s=1.0),
    )
    assert end == "was stopped: it had computed nothing for 1 s"


def test_a_guest_that_takes_longer_than_its_processor_time_is_not_stopped(tmp_path: Path):
    """As on a host that is busy with other work."""
    end = boot(
        [*UNTIL_STOPPED, "from select import select; select([], [], [], 2.0)"],
        tmp_path / "output",
        ProcessorTime(1.0, idle_s=60.0),
    )
    assert end == 0


def test_a_guest_that_waits_for_a_processor_of_the_host_is_not_stopped(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
):
    """On a host that is busy with other work it may get none for minutes: here its time does not count."""
    monkeypatch.setattr("tussle.kernel.boot.processor_s", lambda _: 0.0)
    computes = "import time\nuntil = time.monotonic() + 3\nwhile time.monotonic() < until: pass"
    end = boot([*UNTIL_STOPPED, computes], tmp_path / "output", ProcessorTime(60.0, idle_s=1.0))
    assert end == 0
