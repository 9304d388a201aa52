"""Executors of runs: this process, worker processes that end with the sweep, or a given executor."""

import multiprocessing
import os
import pickle
import signal
import sys
import threading
import time
import traceback
from collections.abc import Callable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from contextlib import contextmanager
from multiprocessing.connection import Connection, wait
from multiprocessing.process import BaseProcess
from queue import SimpleQueue
from typing import Any, TypeAlias

_END_S = 5.0
"""Time allowed for a worker to end once its connection is closed."""
_LEAVE_S = 1.0
"""Time allowed for a worker to remove its temporary files."""
_LEAVE_AGAIN_S = 0.01
"""Time after which a worker tries again to leave a task."""


class ExecutorLostError(BrokenExecutor):
    """An executor that is lost, with the reason in a sentence."""


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
    """Run an executor of worker processes, which end when the block is left by an exception.

    They also end when this process is killed. The task of a worker that was killed fails with
    ExecutorLostError; other workers execute the others.
    """
    pool = _Workers(workers)
    try:
        yield pool
    except BaseException:
        pool.kill()
        raise
    finally:
        pool.close()


_Call: TypeAlias = tuple[Callable[..., Any], tuple[Any, ...], dict[str, Any]]


class _Workers(Executor):
    """Worker processes, each with a connection and a thread of its own.

    The workers share no pipe and no lock, so that one that is killed, even while it sends a result, leaves
    nobody waiting. They ignore Ctrl-C: it is for the process that started them, and they would print traces.
    """

    def __init__(self, most: int) -> None:
        self._most = most
        # Forked workers could wait forever for a lock held by a thread of polars.
        self._context = multiprocessing.get_context("spawn")
        self._tasks: SimpleQueue[tuple[Future[Any], _Call] | None] = SimpleQueue()
        self._lock = threading.Lock()
        self._workers: dict[threading.Thread, BaseProcess] = {}

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Queue a call; workers start as calls arrive."""
        future: Future[Any] = Future()
        with self._lock:
            self._tasks.put((future, (fn, args, kwargs)))
            if len(self._workers) < self._most:
                self._start()
        return future

    def close(self) -> None:
        """Cancel queued calls, and wait until the workers have ended."""
        with self._lock:
            for future in self._queued():
                future.cancel()
            threads = list(self._workers)
            for _ in threads:
                self._tasks.put(None)
        for thread in threads:
            thread.join()

    def kill(self) -> None:
        """End the workers, which first remove their temporary files if that does not take long."""
        with self._lock:
            running = list(self._workers.values())
        for process in running:
            process.terminate()
        give_up = time.monotonic() + _LEAVE_S
        left = [process.sentinel for process in running]
        try:
            while left and (left_s := give_up - time.monotonic()) > 0:
                ended = wait(left, left_s)
                left = [sentinel for sentinel in left if sentinel not in ended]
        finally:
            for process in running:
                process.kill()

    def _start(self) -> None:
        ours, theirs = self._context.Pipe()
        process = self._context.Process(target=_serve, args=(theirs,))
        with _without_interrupts(), _without_main():
            process.start()
        # Only the worker holds its end, which closes with it.
        theirs.close()
        thread = threading.Thread(target=self._work, args=(process, ours))
        self._workers[thread] = process
        thread.start()

    def _work(self, process: BaseProcess, connection: Connection) -> None:
        """Pass calls to a worker until there are no more, or it is lost."""
        with connection:
            while (task := self._tasks.get()) is not None:
                future, call = task
                if future.set_running_or_notify_cancel() and not _settle(future, call, connection):
                    lost = ExecutorLostError(_how_it_ended(process))
                    future.set_exception(lost)
                    self._forget_this_worker(lost)
                    break
        process.join()

    def _forget_this_worker(self, lost: ExecutorLostError) -> None:
        """Forget the worker of this thread; without another one nobody would execute queued calls."""
        with self._lock:
            del self._workers[threading.current_thread()]
            if not self._workers:
                for future in self._queued():
                    if future.set_running_or_notify_cancel():
                        future.set_exception(lost)

    def _queued(self) -> Iterator[Future[Any]]:
        """Take the futures of all queued calls."""
        while not self._tasks.empty():
            if task := self._tasks.get():
                yield task[0]


def _how_it_ended(process: BaseProcess) -> str:
    """Describe the end of a worker whose connection is closed."""
    process.join(_END_S)
    if process.exitcode is None:
        process.kill()
        return "a worker process closed its connection"
    if process.exitcode >= 0:
        return f"a worker process ended unexpectedly, with status {process.exitcode}"
    try:
        name = signal.Signals(-process.exitcode).name
    except ValueError:  # a real-time signal
        name = f"signal {-process.exitcode}"
    memory = ", perhaps for lack of memory (fewer workers need less)" if name == "SIGKILL" else ""
    return f"a worker process was killed by {name}{memory}"


def _settle(future: Future[Any], call: _Call, connection: Connection) -> bool:
    """Let a worker execute a call, and settle its future; return False if the worker is lost."""
    try:
        asked = pickle.dumps(call)
    except Exception as error:
        future.set_exception(error)
        return True
    try:
        connection.send_bytes(asked)
        answer = connection.recv_bytes()
    except (EOFError, OSError):
        return False
    try:
        result, error = pickle.loads(answer)  # noqa: S301 (from a worker of this process)
    except Exception as problem:
        result, error = None, problem
    if error is None:
        future.set_result(result)
    else:
        future.set_exception(error)
    return True


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


def _serve(connection: Connection) -> None:
    """Execute calls in a worker until the other end of its connection closes."""
    threading.Thread(target=_end_with_starter, daemon=True).start()
    signal.signal(signal.SIGTERM, _leave)
    sys.unraisablehook = _go_on_leaving
    try:
        while True:
            try:
                asked = connection.recv_bytes()
            except (EOFError, OSError):
                return
            connection.send_bytes(_answer(asked))
    except _Terminated:
        signal.signal(signal.SIGTERM, signal.SIG_DFL)
        signal.raise_signal(signal.SIGTERM)


class _Terminated(KeyboardInterrupt):
    """Ends a worker, within a task or between two, so that blocks remove their temporary files.

    An interrupt, which no caller takes for the failure of a run.
    """


def _leave(*_: object) -> None:
    raise _Terminated


def _go_on_leaving(lost: "sys.UnraisableHookArgs") -> None:
    """Terminate this worker again if code that cannot fail, such as a finalizer, swallowed the exception."""
    if lost.exc_type is _Terminated:
        # At once, it would be raised in this function, and be lost too.
        again = threading.Timer(_LEAVE_AGAIN_S, os.kill, [os.getpid(), signal.SIGTERM])
        again.daemon = True
        again.start()
    else:
        sys.__unraisablehook__(lost)


def _answer(asked: bytes) -> bytes:
    """Return the result of a call, or its exception with the trace of this process."""
    try:
        fn, args, kwargs = pickle.loads(asked)  # noqa: S301 (from the process that started this one)
        return pickle.dumps((fn(*args, **kwargs), None))
    except _Terminated:
        raise
    except BaseException as error:
        error.add_note("".join(traceback.format_exception(error)))
        try:
            return pickle.dumps((None, error))
        except Exception:
            return pickle.dumps((None, RuntimeError(f"{type(error).__name__}: {error}")))


def _end_with_starter() -> None:
    """End this worker, even within a task, when the process that started it has ended."""
    starter = multiprocessing.parent_process()
    if starter is not None:
        starter.join()
        os.kill(os.getpid(), signal.SIGTERM)
        time.sleep(_LEAVE_S)
        os._exit(1)
