"""Worker processes end with the block that started them."""

import time
from collections.abc import Callable
from pathlib import Path
from typing import Any, NoReturn

import pytest

from tussle.sweep.pool import processes


class SlowToRead:
    """A result whose reader is busy for a second, so that it does not read the next one."""

    def __reduce__(self) -> tuple[Callable[[float], None], tuple[float]]:
        return time.sleep, (1.0,)


LARGER_THAN_A_PIPE_BYTES = 1_000_000


def larger_than_a_pipe(computed: Path) -> bytes:
    computed.touch()
    return bytes(LARGER_THAN_A_PIPE_BYTES)


def for_an_hour(begun: Path) -> None:
    begun.touch()
    time.sleep(3600)


def interrupt(when: Path, after_s: float) -> NoReturn:
    """Raise KeyboardInterrupt some time after a file appears."""
    while not when.exists():
        time.sleep(0.001)
    time.sleep(after_s)
    raise KeyboardInterrupt


def leave(tasks: list[tuple[Any, ...]], when: Path, after_s: float = 0.0) -> None:
    with processes(1) as pool:
        for fn, *arguments in tasks:
            pool.submit(fn, *arguments)
        interrupt(when, after_s)


def test_leaving_the_block_while_a_worker_sends_a_result_ends_it(tmp_path: Path):
    """The reader would wait forever for the rest of a result that its sender did not finish."""
    computed = tmp_path / "computed"
    with pytest.raises(KeyboardInterrupt):
        leave([(SlowToRead,), (larger_than_a_pipe, computed)], computed, 0.2)


def test_leaving_the_block_ends_a_task(tmp_path: Path):
    begun = tmp_path / "begun"
    with pytest.raises(KeyboardInterrupt):
        leave([(for_an_hour, begun)], begun)
