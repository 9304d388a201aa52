"""The studio's page."""

import json
import tomllib
from functools import cache
from importlib.resources import files
from pathlib import Path
from typing import Any

from jinja2 import Environment, PackageLoader, StrictUndefined
from markupsafe import Markup

import tussle
from tussle.catalog import catalog
from tussle.dataset.files import write_whole
from tussle.errors import TussleError
from tussle.figures import algorithm_colour
from tussle.scenario import queue_kinds
from tussle.studio._module import packed_module

QUEUES = tuple(kind for kind, table in queue_kinds.QUEUES.by_name.items() if not table(kind=kind).missing())
"""Queues that need no setting but their limit."""
_SCRIPTS = ("simulator.js", "scenario.js", "charts.js", "studio.js")


def lessons() -> list[dict[str, Any]]:
    """Return the guided lessons: a title, and steps with a text, a set-up and what is to be seen."""
    return tomllib.loads(_text("lessons.toml"))["lessons"]


def simulator_script() -> str:
    """Return the script that loads the simulator, for other pages."""
    return _text("templates/simulator.js")


def write(path: Path) -> Path:
    """Write the page as one file that needs no network.

    Raises TussleError when the file cannot be written, or when this installation lacks the simulator for web
    pages.
    """
    page = _render()
    try:
        write_whole(path, page.encode())
    except OSError as error:
        raise TussleError(f"cannot write {path}: {error.strerror}; give another path") from error
    return path


def _render() -> str:
    environment = Environment(
        loader=PackageLoader("tussle.studio"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    known = catalog()
    ideas = {queue["name"]: queue["idea"] for queue in known.queues.values()}
    given = {
        "algorithms": {name: each["idea"] for name, each in known.algorithms.items()},
        "queues": {name: ideas[name] for name in QUEUES},
        "colours": {name: algorithm_colour(name) for name in known.algorithms},
        "lessons": lessons(),
        "version": tussle.__version__,
    }
    return environment.get_template("studio.html").render(
        given=_safe(json.dumps(given).replace("<", "\\u003c")),
        simulator=packed_module(),
        css=_safe(_text("templates/studio.css")),
        plot_css=_safe(_text("uplot/uPlot.min.css")),
        plot_js=_safe(_text("uplot/uPlot.iife.min.js")),
        script=_safe("\n".join(_text(f"templates/{name}") for name in _SCRIPTS)),
    )


def _safe(text: str) -> Markup:
    """Mark a text of our own as one that needs no escaping."""
    return Markup(text)  # noqa: S704


@cache
def _text(name: str) -> str:
    return (files("tussle.studio") / name).read_text("utf-8")
