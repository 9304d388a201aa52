"""Handing runs to an executor, and taking their results as they come."""

from collections.abc import Iterable, Iterator
from concurrent.futures import FIRST_COMPLETED, BrokenExecutor, Executor, Future, wait
from dataclasses import dataclass, field
from itertools import islice

from tussle.engines import Engine
from tussle.errors import TussleError
from tussle.scenario import PlannedRun
from tussle.sweep.task import Failure, Finished, Task, execute

_WORKER_LOST = (
    "a worker process ended unexpectedly: it was killed, perhaps for lack of memory (fewer workers need "
    'less), or was started by a script that does not call the sweep under `if __name__ == "__main__":`'
)

_GLANCE_S = 0.2
"""How long Ctrl-C may wait to be seen."""


@dataclass
class Dispatch:
    """Hands runs to an executor, a few at a time."""

    executor: Executor
    engine: Engine
    window: int
    """Most runs handed out and not yet returned."""
    problems: dict[int, TussleError] = field(default_factory=dict)
    """Why runs came to nothing, by index."""

    def results(self, pending: Iterable[PlannedRun]) -> Iterator[tuple[PlannedRun, Finished]]:
        """Yield runs with what came of them as they finish.

        After the first problem no more runs are handed out; those under way still come.
        """
        queue = iter(pending)
        under_way: dict[Future[Finished | Failure], PlannedRun] = {}
        while True:
            room = 0 if self.problems else self.window - len(under_way)
            for planned in islice(queue, room):
                under_way[self._hand_out(planned)] = planned
            if not under_way:
                return
            # Not for ever: polars lets the system restart a wait that Ctrl-C interrupts, unseen by Python.
            for future in wait(under_way, _GLANCE_S, return_when=FIRST_COMPLETED).done:
                planned = under_way.pop(future)
                try:
                    result = future.result()
                except BrokenExecutor:
                    self.problems[planned.index] = TussleError(_WORKER_LOST)
                    continue
                except Exception as error:
                    # Executors of users raise what they like.
                    result = Failure(f"{type(error).__name__}: {error} (raised by the executor)")
                if isinstance(result, Failure):
                    sentence = f"{which(planned)} failed: {result.sentence}"
                    self.problems[planned.index] = TussleError(sentence, result.details)
                else:
                    yield planned, result

    def _hand_out(self, planned: PlannedRun) -> Future[Finished | Failure]:
        try:
            return self.executor.submit(execute, Task(planned.index, self.engine, planned.run))
        except BrokenExecutor as error:
            broken: Future[Finished | Failure] = Future()
            broken.set_exception(error)
            return broken


def which(planned: PlannedRun) -> str:
    """A run, as an error message names it."""
    axes = "".join(f", {path} = {value}" for path, value in planned.axes.items())
    return f"run {planned.index} (point {planned.point}{axes}, seed {planned.seed})"
