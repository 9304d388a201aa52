"""A figure of a dataset, for notebooks and files."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from os import PathLike
from pathlib import Path

from tussle.errors import expect
from tussle.figures import Chart, save, svg


@dataclass(frozen=True)
class Picture:
    """A drawn figure. Notebooks show it as SVG, without scripts and without a network."""

    name: str
    """The name of the figure."""
    chart: Chart
    """The Altair chart, to change or combine. Altair itself shows charts with scripts from the network."""

    @cached_property
    def svg(self) -> str:
        """The text of an SVG file."""
        return svg(self.chart)

    def save(self, path: str | PathLike[str], file_format: str | None = None) -> Path:
        """Write the figure as "png", "svg", "pdf" or self-contained "html", by default as `path` ends.

        Raises TussleError for another format, and when the file cannot be written.
        """
        expect("path", path, (str, PathLike), "a file")
        return save(self.chart, Path(path), file_format)

    def __repr__(self) -> str:
        return f"<Picture of the figure {self.name}>"

    def _repr_svg_(self) -> str:
        return self.svg
