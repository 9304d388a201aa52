"""How far a sweep is: told to whoever asks, silent otherwise."""

from collections.abc import Sequence
from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as RichColumn
from rich.text import Text

from tussle.sweep.costs import Cost, added


class SweepProgress(Protocol):
    """What a sweep tells while it works."""

    def begin(self, total: int, finished: int) -> None:
        """`finished` of `total` runs were finished earlier."""
        ...

    def repeat(self, runs: int) -> None:
        """So many runs were finished earlier and are executed again, because their files were damaged."""
        ...

    def advance(self) -> None:
        """One run more is finished."""
        ...

    def spend(self, costs: Sequence[Cost]) -> None:
        """That run cost so much in users' own algorithms."""
        ...

    def merge(self) -> None:
        """All runs are finished; their tables are being put together."""
        ...


class Silent:
    """Tells nothing."""

    def begin(self, total: int, finished: int) -> None:
        """Tell nothing."""

    def repeat(self, runs: int) -> None:
        """Tell nothing."""

    def advance(self) -> None:
        """Tell nothing."""

    def spend(self, costs: Sequence[Cost]) -> None:
        """Tell nothing."""

    def merge(self) -> None:
        """Tell nothing."""


class _Rate(RichColumn):
    """Runs a second, of those that this process executed."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g} runs/s", style="progress.data.speed")


class ProgressBar:
    """A bar in the terminal: runs done, runs a second, remaining time. A context manager."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("runs", total=None, start=False)
        self.costs: list[Cost] = []
        """What users' own algorithms cost, one an algorithm."""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, total: int, finished: int) -> None:
        """Show how many runs there are, and how many of them were finished earlier."""
        self._bar.start_task(self._task)
        self._bar.update(self._task, total=total, completed=finished)

    def repeat(self, runs: int) -> None:
        """Say how many finished runs are executed again."""
        self._bar.console.print(f"damaged files of {runs} finished runs were removed; the runs are repeated")

    def advance(self) -> None:
        """Move the bar by a run."""
        self._bar.advance(self._task)

    def spend(self, costs: Sequence[Cost]) -> None:
        """Add up what users' own algorithms cost."""
        self.costs = added([*self.costs, *costs])

    def merge(self) -> None:
        """Say that the tables are being put together."""
        self._bar.update(self._task, description="tables")
