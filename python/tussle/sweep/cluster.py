"""A Dask cluster as an executor on other machines, which give the same bytes as this one."""

import asyncio
import json
import logging
import pickle
import platform
import time
import zlib
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import CancelledError, Executor, Future, ThreadPoolExecutor, wait
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from threading import Thread
from typing import Any

import tussle
from tussle.engines import Engine
from tussle.errors import TussleError, argument
from tussle.own_algorithms import files_sha256
from tussle.sweep.dispatch import TaskLostError
from tussle.workers.pool import ExecutorLostError

_TIMEOUT_S = 60
"""Time limit for a scheduler to write its file and to answer, and for the first worker.

A busy host has taken more than half a minute to start Dask.
"""
_AT_ONCE_S = 1.0
"""Time that a wait may take before it is reported."""
_GLANCE_S = 0.1
_WITHOUT_WORKERS_S = 600
"""Time limit for the next worker after all were lost: batch systems restart jobs."""
_COUNT_S = 1.0
"""Time for which a count of the workers is valid, because counting is a request to the scheduler."""
_SHOWN_CHARACTERS = 16
_FETCHED_AT_A_TIME = 8
"""Number of results fetched at a time; a result whose worker is lost meanwhile is computed anew."""
_LOST = "the connection to the scheduler was lost"
_TALKATIVE = ("distributed", "distributed.client", "tornado.application")


@dataclass(frozen=True)
class Needs:
    """Facts that decide results, and must be the same on all machines."""

    engine: Engine
    algorithms: tuple[str, ...]
    """Users' own algorithms, as flows name them."""

    def facts(self) -> dict[str, str]:
        """Return these facts on the machine where this is called."""
        python = ".".join(platform.python_version_tuple()[:2])
        engine = {f"engine ({name})": value for name, value in self.engine.about().items()}
        return {"Python": python, "Tussle": tussle.__version__, **engine, **files_sha256(self.algorithms)}


class Cluster(Executor):
    """Executor on the workers of a Dask scheduler; made by `connected`."""

    def __init__(self, client: Any, address: str, tell: Callable[[str], object]) -> None:
        """Use a `distributed.Client` of the scheduler at an address; `tell` is called with what is lost."""
        self._client = client
        self._address = address
        self._tell = tell
        self._handed_out: set[Any] = set()
        self._fetching = ThreadPoolExecutor(_FETCHED_AT_A_TIME, "tussle-fetch")
        self._needs: Needs | None = None
        self._expected: Mapping[str, str] = {}
        self._threads = 0
        self._counted_at = -_COUNT_S
        self._seen_at = time.monotonic()
        self._told = False

    def require(self, needs: Needs) -> None:
        """Raise TussleError when a worker has other facts than this machine; later workers refuse tasks."""
        self._needs, self._expected = needs, needs.facts()
        try:
            answers = self._client.run(needs.facts, on_error="return")
        except Exception as error:
            raise TussleError(f"{argument('cluster', self._address)}: {_LOST}") from error
        for worker, found in answers.items():
            if isinstance(found, Exception):
                reason = f"{type(found).__name__}: {found}"
                raise TussleError(
                    f"{argument('cluster', self._address)}: worker {worker} cannot execute these runs "
                    f"({reason}); install the same versions on it, and start it in a folder with the same "
                    "files"
                )
            if sentence := _difference(self._expected, found):
                raise TussleError(f"{argument('cluster', self._address)}: worker {worker} {sentence}")

    def submit(self, fn: Callable[..., Any], /, *args: Any, **kwargs: Any) -> Future[Any]:
        """Let a worker call `fn`, or another worker if that one is lost.

        The future raises TussleError when the worker has other facts, TaskLostError when several workers were
        lost with this task, and ExecutorLostError when the scheduler is lost.
        """
        future: Future[Any] = Future()
        # The runs of a task have nearly everything in common, and the scheduler would inspect each part.
        packed = zlib.compress(pickle.dumps((self._expected, self._needs, partial(fn, *args, **kwargs))), 1)
        handed_out = self._client.submit(_call_if_the_same, packed, pure=False)
        self._handed_out.add(handed_out)
        handed_out.add_done_callback(partial(self._on_done, future))
        return future

    def threads(self) -> int:
        """Return how many tasks the workers can execute at a time now.

        Raises ExecutorLostError when there has been no worker for long.
        """
        now = time.monotonic()
        if now - self._counted_at >= _COUNT_S:
            # A lost scheduler shows in the tasks.
            with suppress(Exception):
                self._threads = sum(self._client.nthreads().values())
            self._counted_at = now
            if self._threads:
                self._seen_at = now
                self._told = False
            elif not self._told:
                self._tell(f"all workers were lost; waiting for others, for {_WITHOUT_WORKERS_S} s at most")
                self._told = True
        if now - self._seen_at > _WITHOUT_WORKERS_S:
            raise ExecutorLostError(
                f"{argument('cluster', self._address)}: all workers were lost, and none came for "
                f"{_WITHOUT_WORKERS_S} s"
            )
        return self._threads

    def cancel(self) -> None:
        """Cancel all tasks that are not executed yet."""
        self._client.cancel(list(self._handed_out))
        self._fetching.shutdown(wait=False)

    def _on_done(self, future: Future[Any], done: Any) -> None:
        # No future is awaited once all are cancelled.
        with suppress(RuntimeError):
            self._fetching.submit(self._fetch, future, done)

    def _fetch(self, future: Future[Any], done: Any) -> None:
        """Set the outcome of Dask's future, translated to Tussle's errors."""
        from distributed import KilledWorker

        try:
            future.set_result(done.result())
        except CancelledError:
            future.set_exception(ExecutorLostError(f"{argument('cluster', self._address)}: {_LOST}"))
        except KilledWorker as error:
            future.set_exception(
                TaskLostError(
                    f"{error.allowed_failures + 1} workers ended while they executed it, perhaps for lack of "
                    f"memory; see the log of the last one, {error.last_worker.address}"
                )
            )
        except Exception as error:
            future.set_exception(error)
        finally:
            self._handed_out.discard(done)


@contextmanager
def connected(address: str, tell: Callable[[str], object]) -> Iterator[Cluster]:
    """Connect to the scheduler at an address or of a file (`….json`), while the block lasts.

    `tell` is called with what is waited for. Pending tasks are cancelled at the end. Raises TussleError when
    Dask is not installed, the scheduler does not answer, or there is no worker.
    """
    with _quiet():
        client = _client(address, tell)
        try:
            _wait_for_a_worker(client, address, tell)
            cluster = Cluster(client, address, tell)
            try:
                yield cluster
            finally:
                cluster.cancel()
        finally:
            client.close()


def _client(address: str, tell: Callable[[str], object]) -> Any:
    try:
        from distributed import Client
    except ImportError as error:
        raise TussleError(
            f"{argument('cluster')}: Dask is not installed; pip install distributed, here and on the workers"
        ) from error
    try:
        found = _in_file(Path(address), tell) if address.endswith(".json") else address
        # A client that cannot connect waits for an answer even when it is closed.
        _wait_for_an_answer(found, tell)
        return Client(found, timeout=_TIMEOUT_S, set_as_default=False)
    except Exception as error:
        # The type of the exception depends on the kind of address.
        reason = str(error).partition("\n")[0] or type(error).__name__
        raise TussleError(
            f"{argument('cluster', address)}: no scheduler answers ({reason}); give the address that it "
            "prints, like tcp://host:8786, or the file of `dask scheduler --scheduler-file`"
        ) from error


class _Wait:
    """A wait of at most `_TIMEOUT_S`, which is reported once if it takes more than a moment."""

    def __init__(self, lack: str, tell: Callable[[str], object]) -> None:
        """Begin; `lack` is what is not there yet."""
        self._text = f"{lack}; waiting for {_TIMEOUT_S} s at most"
        self._tell = tell
        self._began = time.monotonic()
        self._told = False

    def is_over(self) -> bool:
        """Return whether the time is over; report the wait when a moment has passed."""
        waited_s = time.monotonic() - self._began
        if waited_s >= _AT_ONCE_S and not self._told:
            self._tell(self._text)
            self._told = True
        return waited_s >= _TIMEOUT_S


def _in_file(file: Path, tell: Callable[[str], object]) -> str:
    """Return the address in a scheduler's file, which the scheduler does not write atomically."""
    waiting = _Wait(f"{file} has no address of a scheduler yet", tell)
    while True:
        try:
            found = json.loads(file.read_text("utf-8"))
        except (OSError, ValueError):
            if waiting.is_over():
                raise
        else:
            if isinstance(found, dict) and isinstance(found.get("address"), str):
                return found["address"]
            raise ValueError("this file was not written by a scheduler")
        time.sleep(_GLANCE_S)


def _wait_for_an_answer(address: str, tell: Callable[[str], object]) -> None:
    """Raise the error of a connection if no scheduler answers."""
    answer: Future[None] = Future()

    def knock() -> None:
        try:
            answer.set_result(asyncio.run(_knock(address)))
        except Exception as error:
            answer.set_exception(error)

    # Notebooks have an event loop of their own, and an interrupt does not wait for a daemon.
    Thread(target=knock, daemon=True).start()
    waiting = _Wait(f"{address} does not answer yet", tell)
    # An interrupt is handled at the end of a wait.
    while not wait([answer], _GLANCE_S).done:
        if waiting.is_over():
            raise TimeoutError("something else accepts connections there")
    answer.result()


async def _knock(address: str) -> None:
    from distributed import Security
    from distributed.comm.core import connect

    # Dask limits the time for a connection, which ends first, but not the time for an answer.
    timeout_s = _TIMEOUT_S - 3 * _GLANCE_S
    comm = await connect(address, timeout=timeout_s, **Security().get_connection_args("client"))
    comm.abort()


def _wait_for_a_worker(client: Any, address: str, tell: Callable[[str], object]) -> None:
    scheduler = client.scheduler.address
    waiting = _Wait(f"the scheduler at {scheduler} has no workers yet", tell)
    while True:
        try:
            client.wait_for_workers(1, timeout=_GLANCE_S)
        except TimeoutError as error:
            if waiting.is_over():
                raise TussleError(
                    f"{argument('cluster', address)}: the scheduler has no workers, and none came within "
                    f"{_TIMEOUT_S} s; start some, on any machine: dask worker {scheduler}"
                ) from error
        else:
            return


@contextmanager
def _quiet() -> Iterator[None]:
    """Keep Dask from logging errors that Tussle reports itself."""
    loggers = [logging.getLogger(name) for name in _TALKATIVE]
    before = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.CRITICAL + 1)
    try:
        yield
    finally:
        for logger, level in zip(loggers, before, strict=True):
            logger.setLevel(level)


def _call_if_the_same(packed: bytes) -> object:
    """Call the function packed by `Cluster.submit`, on a worker with the right facts: some may join later."""
    expected, needs, call = pickle.loads(zlib.decompress(packed))  # noqa: S301 (as Dask itself does)
    if needs is not None and (sentence := _difference(expected, needs.facts())):
        raise TussleError(f"worker {platform.node()} {sentence}")
    return call()


def _difference(expected: Mapping[str, str], found: Mapping[str, str]) -> str:
    """Describe the first fact in which a worker differs; empty if there is none."""
    for name in dict.fromkeys([*expected, *found]):
        own, other = expected.get(name, "none"), found.get(name, "none")
        if own != other:
            own, other = own[:_SHOWN_CHARACTERS], other[:_SHOWN_CHARACTERS]
            return (
                f"has another {name}: {other}, and this machine has {own}; results would differ, install "
                "the same version on both"
            )
    return ""
