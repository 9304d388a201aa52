"""Handing runs to an executor, and taking their results as they come."""

from collections import deque
from collections.abc import Callable, Iterator, Sequence
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field

from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.scenario import PlannedRun
from tussle.sweep.task import TASK_S, Failure, Outcome, Task, execute

_WORKER_LOST = (
    "a worker process ended unexpectedly: it was killed, perhaps for lack of memory (fewer workers need "
    'less), or was started by a script that does not call the sweep under `if __name__ == "__main__":`'
)

_GLANCE_S = 0.2
"""How long Ctrl-C may wait to be seen."""


class TaskLostError(Exception):
    """Every worker that was given a task ended, and the executor gives it up; others it can still do."""


@dataclass(frozen=True)
class Limits:
    """How much is handed to an executor."""

    tasks: Callable[[], int]
    """Most tasks handed out and not yet returned; it may change, as workers join and leave."""
    runs_a_task: int
    """Most runs in a task: many short ones, since a task costs something, too."""


@dataclass
class Dispatch:
    """Hands runs to an executor, a few at a time."""

    executor: Executor
    engine: Engine
    limits: Limits
    problems: dict[int, TussleError] = field(default_factory=dict)
    """Why runs came to nothing, by index."""
    _runs_a_task: int = 1
    """How many runs a task should have by the time that they take."""
    _most_in_a_task: int = 1
    _suspects: deque[PlannedRun] = field(default_factory=deque)
    """Runs whose tasks were lost with their workers: one of them is to blame, or one that was there, too."""
    _tried_alone: int | None = None
    """Index of a suspect while no other run is under way, so that it is known what ends workers."""

    def results(self, pending: Sequence[PlannedRun]) -> Iterator[tuple[Sequence[PlannedRun], Outcome]]:
        """Yield runs that were executed, one or more that follow each other, with what came of them.

        After the first problem no more runs are handed out; those under way still come.
        """
        queue = deque(pending)
        under_way: dict[Future[Outcome], list[PlannedRun]] = {}
        while True:
            try:
                tasks = self.limits.tasks()
            except ExecutorLostError as error:
                self.problems[-1] = TussleError(str(error))
                return
            # At least one, though there may be no worker just now: runs left in the queue would be missing.
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
            # Not for ever: polars lets the system restart a wait that Ctrl-C interrupts, unseen by Python.
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
        """Take runs for so many tasks, unless there is a problem."""
        if self.problems:
            return
        for _ in range(room):
            if not queue:
                break
            # Indices that follow each other, for they are stored as one piece.
            task = [queue.popleft()]
            while queue and len(task) < self._most_in_a_task and queue[0].index == task[-1].index + 1:
                task.append(queue.popleft())
            yield task

    def _share(self, queue: deque[PlannedRun], tasks: int) -> None:
        """Let tasks become smaller towards the end, so that no worker has much left when others are done."""
        self._most_in_a_task = max(1, min(self._runs_a_task, len(queue) // max(2 * tasks, 1)))

    def _adapt(self, outcome: Outcome) -> None:
        """Let tasks last as long as they should, if runs go on to be like these."""
        in_time = int(TASK_S * outcome.finished / max(outcome.took_s, 1e-9))
        self._runs_a_task = max(1, min(in_time, 2 * self._runs_a_task, self.limits.runs_a_task))

    def _outcome(self, future: Future[Outcome], task: list[PlannedRun]) -> Outcome | None:
        """Return what came of a task, if anything, and note the problem if there is one."""
        try:
            outcome = future.result()
        except TaskLostError as error:
            if task[0].index != self._tried_alone:
                self._suspects.extend(task)
                return None
            outcome = _failed(str(error))
        except BrokenExecutor as error:
            # Nothing more comes of this executor, whichever run it was.
            self.problems[task[0].index] = TussleError(
                str(error) if isinstance(error, ExecutorLostError) else _WORKER_LOST
            )
            return None
        except TussleError as error:
            outcome = _failed(str(error))
        except Exception as error:
            # Executors of users raise what they like.
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


class ExecutorLostError(BrokenExecutor):
    """An executor that is gone; says in a sentence why."""


def _failed(sentence: str) -> Outcome:
    return Outcome(0, b"", (), Failure(sentence), 0.0)


def which(planned: PlannedRun) -> str:
    """A run, as an error message names it."""
    axes = "".join(f", {path} = {value}" for path, value in planned.axes.items())
    return f"run {planned.index} (point {planned.point}{axes}, seed {planned.seed})"
