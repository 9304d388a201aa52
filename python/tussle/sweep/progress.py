"""Progress of a sweep."""

from collections.abc import Callable, Sequence
from types import TracebackType
from typing import Protocol, Self, runtime_checkable

from rich.console import Console
from rich.progress import BarColumn, MofNCompleteColumn, Progress, Task, TextColumn, TimeRemainingColumn
from rich.progress import ProgressColumn as RichColumn
from rich.text import Text

from tussle.errors import plural
from tussle.workers.costs import Cost, added


@runtime_checkable
class SweepProgress(Protocol):
    """Reports of a sweep."""

    def wait(self, text: str) -> None:
        """Report what the sweep waits for, as a text."""
        ...

    def begin(self, total: int, finished: int) -> None:
        """Report `total` runs, of which `finished` were finished earlier."""
        ...

    def repeat(self, runs: int) -> None:
        """Report a number of finished runs that are executed again, because their files were damaged."""
        ...

    def advance(self) -> None:
        """Report another finished run."""
        ...

    def spend(self, costs: Sequence[Cost]) -> None:
        """Report the costs of users' own algorithms in a run."""
        ...

    def merge(self) -> None:
        """Report that all runs are finished, and that their tables are being merged."""
        ...


class Silent:
    """Progress without output."""

    def wait(self, text: str) -> None:
        """Do nothing."""

    def begin(self, total: int, finished: int) -> None:
        """Do nothing."""

    def repeat(self, runs: int) -> None:
        """Do nothing."""

    def advance(self) -> None:
        """Do nothing."""

    def spend(self, costs: Sequence[Cost]) -> None:
        """Do nothing."""

    def merge(self) -> None:
        """Do nothing."""


class _Rate(RichColumn):
    """Runs per second, of those that this process executed."""

    def render(self, task: Task) -> Text:
        return Text("" if task.speed is None else f"{task.speed:.3g} runs/s", style="progress.data.speed")


class ProgressBar:
    """A progress bar in the terminal: finished runs, runs per second, remaining time. A context manager.

    `note` prints what must be known without a terminal, too; by default, the console does.
    """

    def __init__(self, console: Console, note: Callable[[str], object] | None = None) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            MofNCompleteColumn(),
            _Rate(),
            TimeRemainingColumn(),
            console=console,
            transient=True,
        )
        self._note = note or console.print
        self._task = self._bar.add_task("runs", total=None, start=False)
        self.costs: list[Cost] = []
        """Costs of users' own algorithms, one per algorithm."""

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def wait(self, text: str) -> None:
        """Note what the sweep waits for."""
        self.note(text)

    def begin(self, total: int, finished: int) -> None:
        """Show the number of runs, and of those finished earlier."""
        self._bar.start_task(self._task)
        self._bar.update(self._task, total=total, completed=finished)

    def repeat(self, runs: int) -> None:
        """Note the number of finished runs that are executed again."""
        files = f"the damaged file{'s' if runs > 1 else ''} of {plural(runs, 'finished run')}"
        self.note(f"removed {files}, to repeat {'them' if runs > 1 else 'it'}")

    def advance(self) -> None:
        """Advance the bar by a run."""
        self._bar.advance(self._task)

    def spend(self, costs: Sequence[Cost]) -> None:
        """Add the costs of users' own algorithms."""
        self.costs = added([*self.costs, *costs])

    def merge(self) -> None:
        """Show that the tables are being merged."""
        self._bar.update(self._task, description="tables")

    def note(self, text: str) -> None:
        """Print a note on a line of its own."""
        # A bar that stops leaves its line to others.
        self._bar.stop()
        self._note(text)
        self._bar.start()
