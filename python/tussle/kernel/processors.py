"""A processor for a guest.

A guest is several processes of the host, which take turns thousands of times a second. On one processor the
next one begins at once; an idle one has to be woken first. Where guests run on all processors none is idle,
and guests that may not move keep others from running: one processor is left.
"""

import contextlib
import os
import platform
from collections.abc import Iterator

import psutil
from filelock import FileLock, Timeout

from tussle.cache import cache_root


@contextlib.contextmanager
def one_processor() -> Iterator[int | None]:
    """Reserve a processor that no other guest of this user has; `None` if only one is left."""
    folder = cache_root() / "processors"
    with contextlib.ExitStack() as reserved:
        for processor in _to_reserve():
            # A cache on a network file system belongs to several hosts.
            lock = FileLock(folder / f"{platform.node()}-{processor}")
            with contextlib.suppress(Timeout, OSError):
                folder.mkdir(parents=True, exist_ok=True)
                reserved.enter_context(lock.acquire(timeout=0))
                break
        else:
            processor = None
        yield processor


@contextlib.contextmanager
def confined_to(processor: int | None) -> Iterator[None]:
    """Start processes on one processor only, from this thread; `None` changes nothing."""
    if processor is None:
        yield
        return
    allowed = os.sched_getaffinity(0)
    os.sched_setaffinity(0, {processor})
    try:
        yield
    finally:
        os.sched_setaffinity(0, allowed)


def _to_reserve() -> list[int]:
    """All processors of this process but the last, the current one first: the host has chosen it."""
    current = psutil.Process().cpu_num()
    *others, _left = sorted(os.sched_getaffinity(0))
    return sorted(others, key=lambda processor: (processor != current, processor))
