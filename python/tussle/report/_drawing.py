"""Drawing of the time series of a page, in this process or in others beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Generic, TypeVar

Result = TypeVar("Result")


def _no_report(_done: int, _all: int) -> None:
    pass


@dataclass(frozen=True)
class Drawing:
    """The processes that draw the time series of a page; they do not change the page."""

    executor: Executor | None = None
    """The executor; `None`: this process."""
    at_once: int = 1
    """Number of points drawn at a time: twice the number of workers keeps all of them busy."""
    report: Callable[[int, int], None] = _no_report
    """Callback with the number of points that are drawn, and of all points."""

    def done(self, jobs: Iterable[Callable[[], Result]], count: int) -> Iterator[Result]:
        """Yield the results of jobs in their order; `count` is the number of jobs."""
        ordered = _ahead(self.executor, self.at_once, jobs) if self.executor else (job() for job in jobs)
        self.report(0, count)
        for number, result in enumerate(ordered, start=1):
            self.report(number, count)
            yield result


@dataclass(frozen=True)
class _UnderWay(Generic[Result]):
    job: Callable[[], Result]
    future: Future[Result] | None

    def result(self) -> Result:
        try:
            return self.future.result() if self.future else self.job()
        except BrokenExecutor:
            # A worker was killed; this process does its job.
            return self.job()


def _ahead(executor: Executor, at_once: int, jobs: Iterable[Callable[[], Result]]) -> Iterator[Result]:
    """Yield the results of jobs in order; at most `at_once` jobs are pending, because results take memory."""
    under_way: deque[_UnderWay[Result]] = deque()
    for job in jobs:
        if len(under_way) >= at_once:
            yield under_way.popleft().result()
        try:
            under_way.append(_UnderWay(job, executor.submit(job)))
        except BrokenExecutor:
            under_way.append(_UnderWay(job, None))
    while under_way:
        yield under_way.popleft().result()
