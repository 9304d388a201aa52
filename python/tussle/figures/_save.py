"""Charts as files, without a browser and without a network."""

from __future__ import annotations

import gzip
import re
import zlib
from collections.abc import Callable, Iterator
from contextlib import suppress
from functools import cache
from importlib.metadata import version
from pathlib import Path
from typing import Any

import vl_convert
from jinja2 import Environment, PackageLoader, StrictUndefined

from tussle.cache import cache_root, keep
from tussle.dataset.files import write_whole
from tussle.errors import TussleError, argument, shown, unknown
from tussle.figures._figure import Chart

_PIXELS_PER_POINT = 2
"""Resolution at which a PNG is sharp in print and on dense screens."""

_NO_CHARACTER = re.compile("[^\t\n\r -\ud7ff\ue000-\ufffd\U00010000-\U0010ffff]")
"""Code points that XML 1.0 (section 2.2) excludes; the drawing library aborts the process at one."""

_UNREAD_IN_IMAGES = re.compile(r' (?:aria-[\w-]+|role|class|pointer-events)="[^"]*"')
_EMPTY_IN_IMAGES = re.compile(r'<path d="(?:M0,0h0v0h0Z)?"[^>]*/>')

_EXPOSED = "window.vegaEmbed = vegaEmbed;"
"""The function that the scripts of pages call."""


@cache
def library() -> str:
    """Return Vega, Vega-Lite and their embedding as one script, for pages that need no network.

    Putting it together takes more than a second, so that it is kept in the cache.
    """
    kept = cache_root() / f"vega-{version('vl-convert-python')}.js.gz"
    # A file that was cut off or changed does not unpack; an empty one unpacks to nothing.
    with suppress(OSError, EOFError, zlib.error):
        if script := gzip.decompress(kept.read_bytes()).decode():
            return script
    script = vl_convert.javascript_bundle(_EXPOSED)
    with suppress(OSError):
        keep(kept, gzip.compress(script.encode()))
    return script


def _png(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_png(spec, scale=_PIXELS_PER_POINT)


def _svg(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_svg(spec).encode()


def _pdf(spec: dict[str, Any]) -> bytes:
    return vl_convert.vegalite_to_pdf(spec)


def _html(spec: dict[str, Any]) -> bytes:
    # The template escapes JSON so that it cannot end the script element; `vegalite_to_html` does not.
    environment = Environment(
        loader=PackageLoader("tussle.figures"), autoescape=True, undefined=StrictUndefined
    )
    page = environment.get_template("figure.html")
    return page.render(title="Tussle: a figure", chart=spec, library=library()).encode()


_WRITERS: dict[str, Callable[[dict[str, Any]], bytes]] = {
    ".png": _png,
    ".svg": _svg,
    ".pdf": _pdf,
    ".html": _html,
}


FORMATS = tuple(suffix.removeprefix(".") for suffix in _WRITERS)
"""The formats of files."""


def svg(chart: Chart) -> str:
    """Return a chart as the text of an SVG file.

    Raises TussleError when a text in it holds what is no character.
    """
    return _svg(_drawable(chart)).decode()


def as_image(text: str) -> str:
    """Return the text of an SVG file without what has no effect where it is shown as an image."""
    return _EMPTY_IN_IMAGES.sub("", _UNREAD_IN_IMAGES.sub("", text))


def save(chart: Chart, path: Path | str, file_format: str | None = None) -> Path:
    """Write a chart as PNG, SVG, PDF or self-contained HTML: in a format of FORMATS, else by the suffix.

    Raises TussleError for another suffix, when a text in it holds what is no character, and when the file
    cannot be written.
    """
    path = Path(path)
    if file_format is not None and file_format not in FORMATS:
        raise TussleError(
            f"{argument('file_format', option='format')}: {unknown('format', file_format, FORMATS)}"
        )
    suffix = path.suffix.lower() if file_format is None else f".{file_format}"
    if suffix not in _WRITERS:
        known = ", ".join(_WRITERS)
        raise TussleError(f"cannot write a figure as {path.name}: give a name that ends in one of {known}")
    content = _WRITERS[suffix](_drawable(chart))
    try:
        write_whole(path, content)
    except OSError as error:
        raise TussleError(f"cannot write {path}: {error.strerror}; give another path") from error
    return path


def _drawable(chart: Chart) -> dict[str, Any]:
    """Return the chart's specification; raises TussleError when a text in it cannot be drawn."""
    spec = chart.to_dict()
    for text in _texts(spec):
        if found := _NO_CHARACTER.search(text):
            start = max(0, found.start() - 20)
            raise TussleError(
                f"the dataset holds a control character in {shown(text[start : found.end() + 20])}, which no "
                "picture can show; change that name"
            )
    return spec


def _texts(value: Any) -> Iterator[str]:
    """Yield every text in a specification."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, dict):
        for name, each in value.items():
            yield from (str(name), *_texts(each))
    elif isinstance(value, list):
        for each in value:
            yield from _texts(each)
