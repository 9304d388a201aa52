"""Executors of runs: this process, worker processes that end with the sweep, or a given executor."""

import multiprocessing
import os
import signal
import sys
import threading
from collections.abc import Callable, Iterator
from concurrent.futures import Executor, Future, ProcessPoolExecutor
from contextlib import contextmanager
from multiprocessing.connection import Connection
from typing import Any


class Inline(Executor):
    """Executes runs at once, in this process."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Call `fn` and return its result as a future that is done."""
        future: Future[Any] = Future()
        future.set_result(fn(*args, **kwargs))
        return future


def available_cores() -> int:
    """Cores that this process may use."""
    return len(os.sched_getaffinity(0)) if hasattr(os, "sched_getaffinity") else os.cpu_count() or 1


@contextmanager
def processes(workers: int) -> Iterator[Executor]:
    """Run an executor of worker processes, which end at once when the block is left by an exception.

    They also end when this process is killed: their end of a pipe closes.
    """
    # Forked workers could wait forever for a lock held by a thread of polars.
    context = multiprocessing.get_context("spawn")
    watched, held = context.Pipe(duplex=False)
    pool = _QuietPool(workers, context, initializer=_end_with, initargs=(watched,))
    try:
        yield pool
    except BaseException:
        held.close()
        raise
    finally:
        pool.shutdown(cancel_futures=True)
        watched.close()
        held.close()


class _QuietPool(ProcessPoolExecutor):
    """Workers that ignore Ctrl-C: it is for the process that started them, and they would print traces."""

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        with _without_interrupts(), _without_main():
            return super().submit(_execute, fn, *args, **kwargs)


@contextmanager
def _without_interrupts() -> Iterator[None]:
    """Block Ctrl-C in workers that start: they start as tasks arrive, and inherit the blocked signals."""
    if not hasattr(signal, "pthread_sigmask"):  # Windows
        yield
        return
    before = signal.pthread_sigmask(signal.SIG_BLOCK, [signal.SIGINT])
    try:
        yield
    finally:
        signal.pthread_sigmask(signal.SIG_SETMASK, before)


@contextmanager
def _without_main() -> Iterator[None]:
    """Hide the file of the main module from starting workers, which would execute it again.

    They need no part of it. A user's script thus needs no `if __name__ == "__main__":`.
    """
    main = vars(sys.modules["__main__"])
    hidden = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        del main["__spec__"]
        main.update(hidden)


_between_tasks = threading.Lock()
"""Held by a worker that executes no task.

If it ended while it sends a result, the reader of the result would wait forever for the rest.
"""


def _execute(fn: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
    """Call `fn` in a worker, which may end until the call returns."""
    _between_tasks.release()
    try:
        return fn(*args, **kwargs)
    finally:
        _between_tasks.acquire()


def _end_with(watched: Connection) -> None:
    """End this worker when the other end of the pipe closes; between tasks, if the executor was killed."""
    _between_tasks.acquire()
    starter = multiprocessing.parent_process()

    def watch() -> None:
        try:
            watched.recv()
        except EOFError:
            # An executor that lives ends its idle workers itself.
            while starter is not None and starter.is_alive() and not _between_tasks.acquire(timeout=0.1):
                pass
            os._exit(1)

    threading.Thread(target=watch, daemon=True).start()
