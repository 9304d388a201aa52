"""The report's page: its content, and its file."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from dataclasses import asdict, dataclass
from pathlib import Path
from typing import Any, Protocol

import polars as pl
from jinja2 import Environment, PackageLoader, StrictUndefined

from tussle.dataset.files import write_whole
from tussle.dataset.interval import FEW_ROUND_TRIPS, round_trips_of_short_runs
from tussle.dataset.limits import limited_flows, limits_in_words
from tussle.dataset.places import place
from tussle.dataset.validity import late_runs
from tussle.errors import TussleError
from tussle.figures import (
    CONFIG,
    cell_table,
    flows_in_words,
    library,
    network_in_words,
    other_axes_in_words,
    rate_in_words,
)
from tussle.metrics import REGISTRY, Tables, select_runs
from tussle.metrics.coexistence import THRESHOLD
from tussle.metrics.steadiness import unsteady_runs
from tussle.report import _answer
from tussle.report._charts import Charts, captions, charts, overviews
from tussle.report._downloads import files
from tussle.report._drawing import Drawing
from tussle.report._kernels import changes, slices_in_words
from tussle.report._matrix import VERDICTS, Matrix, anchors_of_pairs, matrices, quantities, sides_of_numbers
from tussle.report._tables import Table, flow_table, point_table
from tussle.report._what_if import what_if
from tussle.scenario import Scenario
from tussle.scenario.host_elements import routers_in_words
from tussle.scenario.hosts import hosts_in_words
from tussle.statistics import repetitions_are_identical


class Results(Tables, Protocol):
    """A dataset: its tables, its scenario, and its provenance."""

    @property
    def scenario(self) -> Scenario: ...
    @property
    def provenance(self) -> Mapping[str, Any]: ...
    @property
    def validity(self) -> pl.LazyFrame | None: ...


@dataclass(frozen=True)
class Detail:
    """One point: its flows and its time series."""

    anchor: str
    point: int
    title: str
    remark: str
    verdict: str
    flows: Table
    packed: str


def write(dataset: Results, path: Path | str, drawing: Drawing | None = None) -> Path:
    """Write the report of a dataset as one HTML file that needs no network.

    Raises TussleError when the file cannot be written.
    """
    path = place(path)
    page = _render(dataset, drawing)
    try:
        write_whole(path, page.encode())
    except OSError as error:
        raise TussleError(f"cannot write the report {path}: {error.strerror}; give another path") from error
    return path


def _render(dataset: Results, drawing: Drawing | None) -> str:
    cells = cell_table(dataset)
    points = sorted(dataset.runs.select("point").unique().collect()["point"])
    anchors = {point: f"point-{point}" for point in points} | anchors_of_pairs(cells)
    drawn = charts(dataset, drawing)
    shown = quantities(dataset, cells) if _compares(cells) else []
    found = matrices(cells, anchors, shown[0]) if shown else []
    overview = overviews(dataset)
    environment = Environment(
        loader=PackageLoader("tussle.report"),
        autoescape=True,
        undefined=StrictUndefined,
        trim_blocks=True,
        lstrip_blocks=True,
    )
    return environment.get_template("page.html").render(
        question=dataset.scenario.question or _question(cells),
        matrices=found,
        sides=sides_of_numbers(cells),
        quantities=[asdict(each) for each in shown],
        overviews=overview,
        files=files(dataset),
        answer=_sentences(dataset, cells, found),
        facts=_facts(dataset),
        changes=changes(dataset),
        details=_details(dataset, cells, anchors, drawn),
        shown=anchors[_most_telling(cells, points)],
        points=point_table(dataset, anchors),
        threshold=THRESHOLD,
        repeated=dataset.runs.select("repetition").max().collect().item() > 0,
        command=dataset.provenance["command"],
        captions=captions(drawn),
        config=CONFIG,
        verdicts=VERDICTS,
        library=library() if drawn.packed or overview else "",
        what_if=what_if(dataset),
        metrics=REGISTRY.values(),
        origin=[
            fact for key in _ORIGIN for fact in _flat({key: dataset.provenance.get(key, "not recorded")})
        ],
        checks=[
            fact
            for key, value in dataset.provenance.items()
            if key not in _ORIGIN
            for fact in _flat({key: value})
        ],
        scenario=dataset.scenario.to_stored_toml(),
    )


def _compares(cells: pl.DataFrame) -> bool:
    """Return whether pairs are compared with each other, and not only one pair over several networks."""
    return len(cells) == 1 or len(cells) > cells["slice"].n_unique()


def _sentences(dataset: Tables, cells: pl.DataFrame, found: list[Matrix]) -> str:
    if not found:
        return _answer.of_points(dataset)
    return found[0].answer if len(found) == 1 else _answer.of_networks(cells, slices_in_words(dataset))


def answer(dataset: Tables) -> str:
    """Return the answer to the question of a dataset, in the words of its report."""
    cells = cell_table(dataset)
    if not _compares(cells):
        return _answer.of_points(dataset)
    if cells["slice"].n_unique() == 1:
        return _answer.of_matrix(cells)
    return _answer.of_networks(cells, slices_in_words(dataset))


def question(dataset: Results) -> str:
    """Return the question of a dataset's scenario; if it has none, the one that its runs can answer."""
    return dataset.scenario.question or _question(cell_table(dataset))


def _question(cells: pl.DataFrame) -> str:
    if cells.is_empty():
        return "How do the flows on this path perform?"
    return "Which congestion control algorithms share this path fairly?"


def _facts(dataset: Results) -> list[tuple[str, str]]:
    """Return the facts that all runs have in common; the tables have the axes."""
    runs = dataset.runs.collect()
    facts = []
    for label, column, words in _FACTS:
        values = runs[column].unique()
        if len(values) == 1 and values[0] is not None:
            facts.append((label, words(values[0])))
    scenario = dataset.scenario
    ends = [(flow.sender, flow.receiver) for flow in scenario.flows]
    facts.append(("Hosts", hosts_in_words(scenario.hosts, ends)))
    if routers := routers_in_words(scenario.path):
        facts.append(("Routers", routers))
    steady = runs.select("steady_from_s", "steady_to_s").unique()
    if len(steady) == 1:
        facts.append(("Measured", f"from {steady.item(0, 0):g} s to {steady.item(0, 1):g} s"))
    short = round_trips_of_short_runs(dataset.runs)
    if len(short):
        facts.append(
            ("Short interval", f"{len(short)} of {len(runs)} runs, below {FEW_ROUND_TRIPS} round trips")
        )
    identical = "; all repetitions are identical" if repetitions_are_identical(dataset) else ""
    facts.append(("Runs", _extent(runs) + identical))
    unsteady = unsteady_runs(dataset)
    if unsteady:
        facts.append(("Steady", f"{len(runs) - len(unsteady)} of {len(runs)} runs (metric steadiness)"))
    late = late_runs(dataset.validity)
    if len(late):
        reason = late["shortfall"][0]
        facts.append(("Validity", f"a host did not keep up in {len(late)} of {len(runs)} runs ({reason})"))
    limited = limited_flows(dataset.runs, dataset.flows)
    if len(limited):
        more = f", and {len(limited) - _MOST_LIMITED} more" if len(limited) > _MOST_LIMITED else ""
        facts.append(("Limited by buffers", ", ".join(limits_in_words(limited, _MOST_LIMITED)) + more))
    return facts


_MOST_LIMITED = 4
"""Limited flows that are named; the table `flows` has all of them."""


def _extent(runs: pl.DataFrame) -> str:
    points, repetitions = runs["point"].n_unique(), runs["repetition"].n_unique()
    return str(len(runs)) if repetitions == 1 else f"{len(runs)}: {points} points, {repetitions} repetitions"


_FACTS = (
    ("Bottleneck", "link_rate_bit_per_s", rate_in_words),
    ("Round trip", "base_rtt_ms", lambda ms: f"{ms:g} ms"),
    ("Buffer", "buffer_packets", lambda packets: f"{packets} packets"),
    ("Duration", "duration_s", lambda seconds: f"{seconds:g} s"),
)


def _details(dataset: Tables, cells: pl.DataFrame, anchors: dict[int, str], drawn: Charts) -> list[Detail]:
    tables = flow_table(dataset)
    found_pairs = {row["point"]: row for row in cells.iter_rows(named=True)}
    first_runs = dataset.runs.group_by("point").agg(pl.col("run").min()).sort("point").collect()
    found = []
    for point, run in first_runs.iter_rows():
        one = select_runs(dataset, [run])
        pair = found_pairs.get(point)
        found.append(
            Detail(
                anchor=anchors[point],
                point=point,
                title=_title(pair) if pair else flows_in_words(one),
                remark="; ".join(filter(None, [other_axes_in_words(one), network_in_words(one)])),
                flows=tables[point],
                verdict=_answer.of_pair(pair) if pair else "",
                packed=drawn.packed.get(point, ""),
            )
        )
    return found


def _title(pair: Mapping[str, Any]) -> str:
    counts = (f"{pair[f'{side}_flows']} {pair[side]}" for side in ("first", "second"))
    first, second = (words.removeprefix("1 ") for words in counts)
    return f"{first} first, {second} second"


def _most_telling(cells: pl.DataFrame, points: list[int]) -> int:
    """Return the initial point: the most unequal pair, else the first point."""
    unequal = cells.drop_nulls("smaller_share").sort("smaller_share", "point")
    return points[0] if unequal.is_empty() else unequal["point"][0]


def _flat(facts: Mapping[str, Any], prefix: str = "") -> Iterator[tuple[str, str]]:
    for key, value in facts.items():
        if isinstance(value, Mapping):
            yield from _flat(value, f"{prefix}{key} ")
        else:
            yield f"{prefix}{key}", value if isinstance(value, str) else json.dumps(value)


_ORIGIN = ("tussle", "engine", "seed", "digest")
"""Keys of the provenance that are always shown; the others are shown on request."""
