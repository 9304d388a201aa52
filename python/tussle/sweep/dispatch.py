"""Distribution of runs to an executor, and collection of their results."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field

from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.scenario import PlannedRun
from tussle.workers.pool import ExecutorLostError
from tussle.workers.task import TASK_S, Failure, Outcome, Task, execute

_EXECUTOR_LOST = (
    "a worker process of the executor ended unexpectedly: it was killed, perhaps for lack of memory (fewer "
    "workers need less), or was started by a script that does not call the sweep under "
    '`if __name__ == "__main__":`'
)

_GLANCE_S = 0.2
"""Interval of checks for Ctrl-C."""


class TaskLostError(Exception):
    """Every worker with a task ended, and the executor gave the task up; it can execute others."""


@dataclass(frozen=True)
class Limits:
    """Limits on the tasks of an executor."""

    tasks: Callable[[], int]
    """Largest number of pending tasks; it may change, as workers join and leave."""
    runs_a_task: int
    """Largest number of runs in a task: many short ones, since a task has a cost of its own."""


@dataclass
class Dispatch:
    """Distribution of runs to an executor, a few at a time."""

    executor: Executor
    engine: Engine
    limits: Limits
    problems: dict[int, TussleError] = field(default_factory=dict)
    """Problems of failed runs, by index."""
    _runs_a_task: int = 1
    """Number of runs per task, adapted to their duration."""
    _most_in_a_task: int = 1
    _suspects: deque[PlannedRun] = field(default_factory=deque)
    """Runs whose tasks were lost with their workers: one of them, or another one at the same time, is the
    cause.
    """
    _tried_alone: int | None = None
    """Index of a suspect that is executed alone, to find the cause of lost workers."""

    def results(self, pending: Sequence[PlannedRun]) -> Iterator[tuple[Sequence[PlannedRun], Outcome]]:
        """Yield executed runs, one or more in sequence, with their outcome.

        After the first problem no more runs are started; pending ones still arrive.
        """
        queue = deque(pending)
        under_way: dict[Future[Outcome], list[PlannedRun]] = {}
        while True:
            try:
                tasks = self.limits.tasks()
            except ExecutorLostError as error:
                self.problems[-1] = TussleError(str(error))
                return
            # At least one, even without a worker: runs left in the queue would be missing.
            room = tasks - len(under_way)
            self._share(queue, tasks)
            for task in self._next(queue, room if under_way else max(room, 1)):
                under_way[self._hand_out(task)] = task
            if not under_way and self._suspects and not self.problems:
                suspect = self._suspects.popleft()
                self._tried_alone = suspect.index
                under_way[self._hand_out([suspect])] = [suspect]
            if not under_way:
                return
            # A time limit: polars lets the system restart a wait that Ctrl-C interrupts, without Python's
            # notice.
            for future in wait(under_way, _GLANCE_S, return_when=FIRST_COMPLETED).done:
                task = under_way.pop(future)
                outcome = self._outcome(future, task)
                if outcome is None:
                    continue
                queue.extendleft(reversed(task[outcome.finished :]))
                if outcome.finished:
                    self._adapt(outcome)
                    yield task[: outcome.finished], outcome

    def _next(self, queue: deque[PlannedRun], room: int) -> Iterator[list[PlannedRun]]:
        """Take runs for a number of tasks, unless there is a problem."""
        if self.problems:
            return
        for _ in range(room):
            if not queue:
                break
            # Consecutive indices, since they are stored in one file.
            task = [queue.popleft()]
            while queue and len(task) < self._most_in_a_task and queue[0].index == task[-1].index + 1:
                task.append(queue.popleft())
            yield task

    def _share(self, queue: deque[PlannedRun], tasks: int) -> None:
        """Shrink tasks towards the end, so that no worker has much left when others are done."""
        self._most_in_a_task = max(1, min(self._runs_a_task, len(queue) // max(2 * tasks, 1)))

    def _adapt(self, outcome: Outcome) -> None:
        """Adapt the number of runs per task to their duration."""
        in_time = int(TASK_S * outcome.finished / max(outcome.took_s, 1e-9))
        self._runs_a_task = max(1, min(in_time, 2 * self._runs_a_task, self.limits.runs_a_task))

    def _outcome(self, future: Future[Outcome], task: list[PlannedRun]) -> Outcome | None:
        """Return the outcome of a task, if there is one, and record a problem."""
        try:
            outcome = future.result()
        except TaskLostError as error:
            if task[0].index != self._tried_alone:
                self._suspects.extend(task)
                return None
            outcome = _failed(str(error))
        except BrokenExecutor as error:
            # The executor is lost, whichever run it executed.
            self.problems[task[0].index] = TussleError(
                str(error) if isinstance(error, ExecutorLostError) else _EXECUTOR_LOST
            )
            return None
        except TussleError as error:
            outcome = _failed(str(error))
        except Exception as error:
            # Executors of users raise any exception.
            outcome = _failed(f"{type(error).__name__}: {error} (raised by the executor)")
        if outcome.failure:
            planned = task[outcome.finished]
            sentence = f"{which(planned)} failed: {outcome.failure.sentence}"
            self.problems[planned.index] = TussleError(sentence, outcome.failure.details)
        return outcome

    def _hand_out(self, task: list[PlannedRun]) -> Future[Outcome]:
        runs = [planned.run for planned in task]
        try:
            return self.executor.submit(execute, Task(task[0].index, self.engine, runs))
        except BrokenExecutor as error:
            broken: Future[Outcome] = Future()
            broken.set_exception(error)
            return broken


def _failed(sentence: str) -> Outcome:
    return Outcome(0, b"", (), Failure(sentence), 0.0)


def which(planned: PlannedRun) -> str:
    """Describe a run for an error message."""
    axes = "".join(f", {path} = {value}" for path, value in planned.axes.items())
    return f"run {planned.index} (point {planned.point}{axes}, seed {planned.seed})"
