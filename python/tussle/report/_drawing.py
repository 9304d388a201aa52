"""Drawing of the time series of a page, in this process or in others beside it."""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Iterable, Iterator
from concurrent.futures import BrokenExecutor, Executor, Future
from dataclasses import dataclass
from typing import Generic, TypeVar

Made = TypeVar("Made")


def _no_report(_done: int, _all: int) -> None:
    pass


@dataclass(frozen=True)
class Drawing:
    """The processes that draw the time series of a page; they do not change the page."""

    executor: Executor | None = None
    """Draws them; `None`: this process does."""
    at_once: int = 1
    """Points that are in the making at a time: twice the executor's workers keep them all busy."""
    report: Callable[[int, int], None] = _no_report
    """Callback with the number of points that are drawn, and of all points."""

    def done(self, jobs: Iterable[Callable[[], Made]], count: int) -> Iterator[Made]:
        """Yield what comes of each of so many jobs, in their order."""
        ordered = _ahead(self.executor, self.at_once, jobs) if self.executor else (job() for job in jobs)
        self.report(0, count)
        for number, made in enumerate(ordered, start=1):
            self.report(number, count)
            yield made


@dataclass(frozen=True)
class _UnderWay(Generic[Made]):
    job: Callable[[], Made]
    future: Future[Made] | None

    def made(self) -> Made:
        try:
            return self.future.result() if self.future else self.job()
        except BrokenExecutor:
            # A worker was killed: the page is to be had all the same.
            return self.job()


def _ahead(executor: Executor, at_once: int, jobs: Iterable[Callable[[], Made]]) -> Iterator[Made]:
    """Yield what comes of jobs, of which so many are handed out at a time: what is done waits in memory."""
    under_way: deque[_UnderWay[Made]] = deque()
    for job in jobs:
        if len(under_way) >= at_once:
            yield under_way.popleft().made()
        try:
            under_way.append(_UnderWay(job, executor.submit(job)))
        except BrokenExecutor:
            under_way.append(_UnderWay(job, None))
    while under_way:
        yield under_way.popleft().made()
