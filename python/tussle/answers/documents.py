"""The JSON of `--json`: documents with a name and a version, which fields and their meanings belong to.

A new field does not change the version; a field that is renamed, removed or means something else does.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any, Literal

from pydantic import BaseModel, ConfigDict

import tussle
from tussle.agreement import Agreement
from tussle.answers._summary import Summary
from tussle.compare import Along, Comparison
from tussle.metrics import axis_columns

_DESCRIBED = ConfigDict(use_attribute_docstrings=True, extra="forbid")


class Interval(BaseModel):
    """A median over repetitions, with the ends of its 95 % interval."""

    model_config = _DESCRIBED
    median: float | None
    """The median; null if there is no value."""
    low: float | None
    """The lower end; null with fewer than six repetitions."""
    high: float | None
    """The upper end; null with fewer than six repetitions."""


class PointOf(BaseModel):
    """Results at a point of a scenario, of all flows together."""

    model_config = _DESCRIBED
    point: int
    """The number of the point."""
    axes: dict[str, str]
    """The value of each axis of the scenario, by its key."""
    runs: int
    """The number of repetitions."""
    quantities: dict[str, Interval]
    """Quantities by the name of their column, such as `jain_index`, which has the unit."""


class FlowOf(BaseModel):
    """Results of a flow at a point."""

    model_config = _DESCRIBED
    point: int
    """The number of the point."""
    flow: int
    """The number of the flow."""
    name: str
    """The name of the flow."""
    algorithm: str
    """The algorithm, as read back from the engine."""
    quantities: dict[str, Interval]
    """Quantities by the name of their column, such as `goodput_bit_per_s`."""


class PairOf(BaseModel):
    """The verdict of the metric `coexistence` on a pair."""

    model_config = _DESCRIBED
    point: int
    """The number of the point."""
    first: str
    """The algorithm of the first flow."""
    second: str
    """The algorithm of the second flow."""
    first_flows: int
    """The number of flows of the first algorithm."""
    second_flows: int
    """The number of flows of the second algorithm."""
    smaller_share: Interval
    """The share of the smaller flow of both goodputs; of several flows on a side, of the mean goodputs."""
    verdict: Literal["yes", "no", "unclear"] | None
    """Whether they share fairly; null if nothing was delivered."""
    reason: str | None
    """The reason for which a verdict is unclear."""
    verdict_both_orders: Literal["yes", "no", "unclear", "depends"] | None
    """The verdict that takes both orders of start into account; null if only one was run."""


class Result(BaseModel):
    """The results of a scenario."""

    model_config = _DESCRIBED
    dataset: str
    """The folder of the dataset."""
    report: str
    """The file of the report."""
    digest: str
    """The digest of all results; equal results have equal digests."""
    engine: dict[str, str]
    """Name and version of the engine, and all other facts that decide its results."""
    question: str
    """The question of the scenario, or the one that its runs can answer."""
    answer: str
    """The answer, in the words of the report."""
    points: list[PointOf]
    """Points, in the order of the scenario."""
    flows: list[FlowOf]
    """Flows of each point."""
    pairs: list[PairOf]
    """Verdicts, where all runs are pairs; else empty."""
    notes: list[str]
    """Limits of the results, and how to improve them."""


class ResultsDocument(BaseModel):
    """The output of `tussle run --json` and `tussle matrix --json`."""

    model_config = _DESCRIBED
    format: Literal["tussle results 1"] = "tussle results 1"
    """Name and version of the format."""
    tussle: str
    """The version of Tussle."""
    results: list[Result]
    """One for each scenario."""


class DifferenceOf(BaseModel):
    """A difference between two sides, A and B."""

    model_config = _DESCRIBED
    point: str
    """The values of the axes at that point."""
    flow: str | None
    """The flow; null for a quantity of all flows together."""
    metric: str
    """The metric."""
    column: str
    """The column of its table, with the unit in the name."""
    first: float
    """The median of A."""
    second: float
    """The median of B."""
    difference: float
    """The median difference, B minus A."""
    low: float | None
    """The lower end of its 95 % interval; null with too few runs."""
    high: float | None
    """The upper end of its 95 % interval; null with too few runs."""
    runs: int
    """The number of runs, or of pairs of runs of one seed."""
    paired: bool
    """Whether runs of one seed were compared with one another."""
    verdict: str
    """"real", "not shown" or "within threshold"."""


class Compared(BaseModel):
    """A comparison of two sides."""

    model_config = _DESCRIBED
    a: str
    """The first dataset, or the first value of the axis."""
    b: str
    """The second dataset, or another value of the axis."""
    differences: list[DifferenceOf]
    """Every difference."""
    has_real_difference: bool
    """Whether any difference is real, and exceeds its threshold."""
    undecided: int
    """The number of differences that too few runs leave undecided."""
    notes: list[str]
    """Other differences between the sides."""


class ComparisonDocument(BaseModel):
    """The output of `tussle compare --json`."""

    model_config = _DESCRIBED
    format: Literal["tussle comparison 1"] = "tussle comparison 1"
    """Name and version of the format."""
    tussle: str
    """The version of Tussle."""
    axis: str | None
    """The axis whose values are compared; null if two datasets are."""
    comparisons: list[Compared]
    """One for two datasets, or one for each further value of the axis."""


class BoundOf(BaseModel):
    """A bound on the differences between the simulator and a kernel."""

    model_config = _DESCRIBED
    difference: str
    """The compared quantity, in words."""
    cells: int
    """The number of cells that the bound applies to."""
    median: float | None
    """The median of the differences."""
    median_at_most: float
    """The bound of the median."""
    p95: float | None
    """The 95th percentile of the differences."""
    p95_at_most: float | None
    """The bound of the 95th percentile; null without one."""
    holds: Literal["yes", "no", "undecided"]
    """Whether the bound holds; undecided if randomness may explain the excess."""


class Agreed(BaseModel):
    """The agreement of the simulator with a kernel."""

    model_config = _DESCRIBED
    simulator: str
    """Name of the simulator."""
    linux: str
    """Name of the kernel."""
    settings: dict[str, Any]
    """The values that replace those of all cells, by their keys, as in `{"hosts.sack": false}`."""
    page: str
    """The file of the page."""
    is_broken: bool
    """Whether a bound is exceeded by more than randomness explains."""
    cells: int
    """The number of cells."""
    same_cells: int
    """The number of cells in which every run delivers and retransmits the same."""
    bounds: list[BoundOf]
    """Every bound."""
    outside: list[dict[str, Any]]
    """Every cell outside of a bound, by the names of its columns."""


class AgreementDocument(BaseModel):
    """The output of `tussle agree --json`."""

    model_config = _DESCRIBED
    format: Literal["tussle agreement 1"] = "tussle agreement 1"
    """Name and version of the format."""
    tussle: str
    """The version of Tussle."""
    agreements: list[Agreed]
    """One for each kernel, and each setting of hosts."""


DOCUMENTS = (ResultsDocument, ComparisonDocument, AgreementDocument)
"""Every document, in the order of the reference."""


def result(summary: Summary, report: str) -> Result:
    """Return the results of a dataset."""
    facts, axes = summary.dataset.provenance, axis_columns(summary.dataset)
    return Result(
        dataset=str(summary.dataset.folder),
        report=report,
        digest=facts["digest"],
        engine=facts["engine"],
        question=summary.question,
        answer=summary.answer,
        points=[
            PointOf(
                point=row["point"],
                axes={axis: row[axis] for axis in axes},
                runs=row["runs"],
                quantities=_quantities(row),
            )
            for row in summary.points.to_dicts()
        ],
        flows=[
            FlowOf(
                point=row["point"],
                flow=row["flow"],
                name=row["name"],
                algorithm=row["algorithm"],
                quantities=_quantities(row),
            )
            for row in summary.flows.to_dicts()
        ],
        pairs=[
            PairOf(
                **{key: row[key] for key in PairOf.model_fields if key != "smaller_share"},
                smaller_share=_interval(row, "smaller_share"),
            )
            for row in summary.pairs.to_dicts()
        ],
        notes=summary.notes,
    )


def results_document(results: Iterable[Result]) -> ResultsDocument:
    """Return the document of some results."""
    return ResultsDocument(tussle=tussle.__version__, results=list(results))


def comparison_document(found: Comparison | Along, sides: tuple[str, str]) -> ComparisonDocument:
    """Return the document of a comparison; `sides` are the names of two datasets."""
    if isinstance(found, Along):
        comparisons = [_compared(each, (found.first, value)) for value, each in found.others.items()]
        return ComparisonDocument(tussle=tussle.__version__, axis=found.axis, comparisons=comparisons)
    return ComparisonDocument(tussle=tussle.__version__, axis=None, comparisons=[_compared(found, sides)])


def agreed(agreement: Agreement, called: tuple[str, str], settings: Mapping[str, Any], page: str) -> Agreed:
    """Return the agreement of two engines; `called` are their names, `settings` those of all cells."""
    simulator, linux = called
    return Agreed(
        simulator=simulator,
        linux=linux,
        settings=dict(settings),
        page=page,
        is_broken=agreement.is_broken,
        cells=agreement.cells.height,
        same_cells=agreement.same_cells,
        bounds=[
            BoundOf(
                difference=each.bound.words,
                cells=each.cells,
                median=each.found.median,
                median_at_most=each.bound.median,
                p95=each.found.p95,
                p95_at_most=each.bound.p95,
                holds=each.answer,
            )
            for each in agreement.verdicts
        ],
        outside=agreement.outside.to_dicts(),
    )


def agreement_document(agreements: Iterable[Agreed]) -> AgreementDocument:
    """Return the document of some agreements."""
    return AgreementDocument(tussle=tussle.__version__, agreements=list(agreements))


def _compared(found: Comparison, sides: tuple[str, str]) -> Compared:
    first, second = sides
    return Compared(
        a=first,
        b=second,
        differences=[
            DifferenceOf(**{key: row[key] for key in DifferenceOf.model_fields})
            for row in found.rows.to_dicts()
        ],
        has_real_difference=found.has_real_difference,
        undecided=found.undecided,
        notes=list(dict.fromkeys(found.notes)),
    )


def _quantities(row: Mapping[str, Any]) -> dict[str, Interval]:
    names = [key.removesuffix("_low") for key in row if key.endswith("_low")]
    return {name: _interval(row, name) for name in names}


def _interval(row: Mapping[str, Any], name: str) -> Interval:
    return Interval(median=row[name], low=row[f"{name}_low"], high=row[f"{name}_high"])
