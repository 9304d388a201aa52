"""Figures of one run, for one point or for several side by side."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass, replace

import altair as alt

from tussle.errors import TussleError
from tussle.figures._figure import Chart, View
from tussle.figures._words import flows_in_words, network_in_words, other_axes_in_words
from tussle.metrics import Tables, representative_runs, select_runs

_MOST_PANELS = 16
_COLUMNS = 4
_SMALL_PX = 280
_SMALL_ROWS = 400


@dataclass(frozen=True)
class Panels:
    """The drawing of one run, with its title and remark."""

    title: str
    remark: str
    """A remark on how to read the chart."""
    draw: Callable[[Tables, View], Chart]
    caution: Callable[[Tables, View], str] = lambda _tables, _view: ""
    """Explains values of a run that look impossible; empty if there are none."""


def each_point(tables: Tables, view: View, panels: Panels) -> Chart:
    """Draw the representative run of each point; several points are small panels side by side."""
    chosen = representative_runs(tables).rows()
    if view.point is not None:
        chosen = [(point, run) for point, run in chosen if point == view.point]
    if not chosen:
        raise TussleError(
            f"there is no point {view.point} in this dataset; it has points 0 to {_last(tables)}"
        )
    if len(chosen) > _MOST_PANELS:
        raise TussleError(
            f"this dataset has {len(chosen)} points, too many for one figure of time series; "
            f"choose one of 0 to {_last(tables)}"
        )
    if len(chosen) == 1:
        run = select_runs(tables, [chosen[0][1]])
        network = "; ".join(filter(None, [other_axes_in_words(run), network_in_words(run)]))
        caution = panels.caution(run, view)
        remarks = [line for line in (network, panels.remark, caution) if line]
        title = alt.TitleParams(f"{panels.title}: {flows_in_words(run)}", subtitle=remarks)
        chart = _titled(panels.draw(run, view), title)
        # The report hides the titles of charts and reads this instead.
        chart.usermeta = {"caution": caution} if caution else alt.Undefined
        return chart
    small = replace(view, width_px=min(view.width_px, _SMALL_PX), most_rows=min(view.most_rows, _SMALL_ROWS))
    runs = [select_runs(tables, [run]) for _, run in chosen]
    drawn = [_small_panel(run, small, panels) for run in runs]
    cautions = dict.fromkeys(caution for run in runs if (caution := panels.caution(run, small)))
    title = alt.TitleParams(panels.title, subtitle=[panels.remark, *cautions])
    return alt.concat(*drawn, columns=_columns(len(drawn)), title=title).resolve_scale(
        color="independent", strokeDash="independent"
    )


def _small_panel(run: Tables, view: View, panels: Panels) -> Chart:
    remarks = other_axes_in_words(run) or network_in_words(run)
    title = alt.TitleParams(flows_in_words(run), subtitle=remarks, fontSize=12, subtitleFontSize=11, offset=4)
    return _titled(panels.draw(run, view), title)


def _titled(chart: Chart, title: alt.TitleParams) -> Chart:
    chart.title = title
    return chart


def _columns(panels: int) -> int:
    """Return the number of columns: n for n² panels (all pairs of n algorithms), else as many as fit."""
    side = round(panels**0.5)
    return side if side * side == panels else min(_COLUMNS, panels)


def _last(tables: Tables) -> int:
    return tables.runs.select("point").max().collect().item()
