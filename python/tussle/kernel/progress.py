"""Progress of a kernel's build."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class BuildProgress(Protocol):
    """Reports of a build."""

    def begin(self, step: str) -> None:
        """Begin another step, of unknown duration."""
        ...

    def reach(self, fraction: float, note: str = "") -> None:
        """Report the completed fraction of the step."""
        ...


class Silent:
    """Progress without output."""

    def begin(self, step: str) -> None:
        """Do nothing."""

    def reach(self, fraction: float, note: str = "") -> None:
        """Do nothing."""


class BuildBar:
    """A progress bar in the terminal for the current step. A context manager."""

    def __init__(self, console: Console) -> None:
        self._bar = Progress(
            TextColumn("{task.description}"),
            BarColumn(),
            TextColumn("{task.fields[note]}"),
            TimeElapsedColumn(),
            console=console,
            transient=True,
        )
        self._task = self._bar.add_task("", total=None, note="")

    def __enter__(self) -> Self:
        self._bar.start()
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        self._bar.stop()

    def begin(self, step: str) -> None:
        """Show another step, with an indeterminate bar."""
        self._bar.reset(self._task, total=None, description=step, note="")

    def reach(self, fraction: float, note: str = "") -> None:
        """Show the progress of the step."""
        self._bar.update(self._task, total=1.0, completed=fraction, note=note)
