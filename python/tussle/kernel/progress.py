"""How far the build of a kernel is: told to whoever asks."""

from types import TracebackType
from typing import Protocol, Self

from rich.console import Console
from rich.progress import BarColumn, Progress, TextColumn, TimeElapsedColumn


class BuildProgress(Protocol):
    """What a build tells while it works."""

    def begin(self, step: str) -> None:
        """Another step begins; how long it takes is not known yet."""
        ...

    def reach(self, fraction: float, note: str = "") -> None:
        """That part of the step is done."""
        ...


class Silent:
    """Tells nothing."""

    def begin(self, step: str) -> None:
        """Tell nothing."""

    def reach(self, fraction: float, note: str = "") -> None:
        """Tell nothing."""


class BuildBar:
    """A bar in the terminal for the step at hand. A context manager."""

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
        """Show another step, with a bar that only moves."""
        self._bar.reset(self._task, total=None, description=step, note="")

    def reach(self, fraction: float, note: str = "") -> None:
        """Show how far the step is."""
        self._bar.update(self._task, total=1.0, completed=fraction, note=note)
