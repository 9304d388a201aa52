"""The interface by which datasets are shown in notebooks.

A dataset knows no metrics; whoever computes its answer registers here, as `tussle.run_checks` does for
checks.
"""

from typing import Any, Protocol


class Display(Protocol):
    """Shows a dataset."""

    def html(self, dataset: Any) -> str:
        """Return the answer of a dataset, with its tables, as HTML."""
        ...


class AnswerDisplay:
    """The display of `tussle.answers`, which is imported when a dataset is shown."""

    def html(self, dataset: Any) -> str:
        """Return the summary of a dataset as HTML."""
        from tussle.answers import summary

        return summary(dataset)._repr_html_()


_given: list[Display] = []


def give_display(display: Display) -> None:
    """Register the display."""
    _given[:] = [display]


def html_of(dataset: Any) -> str:
    """Return a dataset as HTML, by the registered display."""
    (display,) = _given
    return display.html(dataset)
