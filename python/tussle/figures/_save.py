"""Charts as files, without a browser and without a network."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import vl_convert

from tussle.dataset.files import write_whole
from tussle.errors import TussleError
from tussle.figures._figure import Chart

_PIXELS_PER_POINT = 2
"""So that a PNG is sharp in print and on dense screens."""


def _png(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_png(spec, scale=_PIXELS_PER_POINT)


def _svg(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_svg(spec).encode()


def _pdf(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_pdf(spec)


def _html(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_html(spec, bundle=True).encode()


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".png": _png,
    ".svg": _svg,
    ".pdf": _pdf,
    ".html": _html,
}


def svg(chart: Chart) -> str:
    """Return a chart as the text of an SVG file."""
    return _svg(chart.to_dict()).decode()


def save(chart: Chart, path: Path | str) -> Path:
    """Write a chart as PNG, SVG, PDF or self-contained HTML, by the suffix of `path`.

    Raises TussleError for another suffix, and when the file cannot be written.
    """
    path = Path(path)
    if path.suffix.lower() not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise TussleError(f"cannot write a figure as {path.name}: give a name that ends in one of {known}.")
    content = _WRITERS[path.suffix.lower()](chart.to_dict())
    try:
        write_whole(path, content)
    except OSError as error:
        raise TussleError(f"cannot write {path}: {error.strerror}; give another path.") from error
    return path
