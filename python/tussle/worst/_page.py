"""The page of a result: one HTML file without scripts, which loads nothing."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import altair as alt

import tussle
from tussle.dataset import Dataset
from tussle.dataset.files import explained, write_whole
from tussle.errors import TussleError
from tussle.figures import CONFIG, REGISTRY, View, draw, svg
from tussle.metrics import Tables, representative_runs, select_runs
from tussle.pages import environment
from tussle.worst._optimiser import Trial
from tussle.worst._result import CASE, PAGE, Result
from tussle.worst._shrink import TOLERANCE
from tussle.worst._words import estimate_words, summary, value_words

_IDS = re.compile(r"(?<=[\"#])(clip|gradient_)(\d+)(?=[\")])")
_FIGURES = ("throughput", "window", "rtt")
_VIEW = View(width_px=520, most_rows=150)
_WIDTH_PX = 520
_HEIGHT_PX = 220


@dataclass(frozen=True)
class _Drawn:
    caption: str
    svg: str


def write_page(result: Result, folder: Path) -> None:
    """Write the page of a result beside its files; raises TussleError when it cannot be written."""
    templates = environment("tussle.worst")
    templates.filters |= {
        "badness": lambda value: value_words(value, result.problem.objective.unit),
        "estimated": lambda found: estimate_words(found, result.problem.objective.unit),
    }
    sentences = summary(result)
    dataset = tussle.open(folder / CASE)
    page = templates.get_template("worst.html").render(
        result=result,
        answer=sentences[0],
        sentences=sentences[1:],
        objective=result.problem.objective,
        search=_search_chart(result.trials, result.problem.objective.quantity),
        cases=[(each, _figures(dataset, each.point)) for each in result.compared],
        tolerance=TOLERANCE,
        version=tussle.__version__,
    )
    with explained(folder):
        write_whole(folder / PAGE, _renumbered(page).encode())


def _renumbered(page: str) -> str:
    """Number the identifiers in figures from 0: the library counts on from those of other pages."""
    numbers: dict[str, int] = {}
    return _IDS.sub(lambda found: f"{found[1]}{numbers.setdefault(found[0], len(numbers))}", page)


def _figures(dataset: Dataset, point: int) -> list[_Drawn]:
    """Draw the representative run of a point."""
    chosen = dict(representative_runs(dataset).select("point", "run").iter_rows())
    tables: Tables = select_runs(dataset, [chosen[point]])
    found = []
    for name in _FIGURES:
        try:
            found.append(_Drawn(REGISTRY[name].shows, svg(draw(name, tables, _VIEW))))
        except TussleError:
            continue
    return found


def _search_chart(trials: Sequence[Trial], name: str) -> str:
    """Draw the badness of every scenario of the search, and the worst so far."""
    rows, worst = [], float("-inf")
    for index, each in enumerate(trials, 1):
        worst = max(worst, each.badness)
        if worst > float("-inf"):
            rows.append(
                {"scenario": index, "badness": max(each.badness, -1.0), "worst": worst, "stage": each.stage}
            )
    base = alt.Chart(alt.InlineData(values=rows)).encode(
        alt.X("scenario", type="quantitative", title="scenario of the search")
    )
    points = base.mark_point(size=14, filled=True, opacity=0.7).encode(
        alt.Y("badness", type="quantitative", title=name),
        alt.Color("stage", type="nominal", title=None, legend=alt.Legend(orient="top")),
    )
    line = base.mark_line(interpolate="step-after", strokeWidth=1.6, color="#16181d").encode(
        alt.Y("worst", type="quantitative")
    )
    chart = alt.LayerChart(layer=[points, line], width=_WIDTH_PX, height=_HEIGHT_PX)
    chart.config = CONFIG
    return svg(chart)
