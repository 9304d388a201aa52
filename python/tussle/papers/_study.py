"""A published study: parts and tables in `papers/NAME/study.toml`, conclusions in `statements.toml`."""

from __future__ import annotations

import tomllib
from functools import cache
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import Field, model_validator

from tussle.errors import TussleError, unknown
from tussle.figures import REGISTRY as FIGURES
from tussle.figures import Outliers
from tussle.metrics import REGISTRY as METRICS
from tussle.predicates import Predicate, Quantity, Strict
from tussle.scenario import Scenario

_FOLDER = Path(__file__).parent / "studies"
_WHERE = ("part", "table")
"""Columns of `published.csv` that name the part and the table of a row. Columns with a dot are keys of the
scenario."""


class Column(Quantity):
    """A printed quantity, and the computation of Tussle's number for it."""

    name: str
    """Name of the column of `published.csv`, which ends in the unit."""
    words: str
    flow: int | Literal["mean", "sum"] = "mean"
    """The flow whose value counts, or all flows together. A metric of runs has a single value."""


class Verdict(Strict):
    """A rule that turns a row of a table into one of two verdicts."""

    columns: tuple[str, ...]
    """One column, whose value is compared; or two, for the share of the smaller one in their sum."""
    at_least: float
    yes: str
    no: str


class Table(Strict):
    """A published table."""

    name: str
    """Name of the table in the column `table` of `published.csv`."""
    title: str
    columns: tuple[Column, ...]
    note: str = ""
    cause: str = ""
    """Why Tussle's numbers differ from the printed ones, as far as known; with code between backticks."""
    group: str | None = None
    """Key whose values group the rows; within a group they are sorted by the first column."""
    condition: tuple[str, ...] = ()
    """Keys of the conditions, such as the RTT: ranks are also compared within each of them."""
    mirrored: bool = False
    """Whether each pair was presumably measured once: numbers that are printed alike in both orders."""
    verdict: Verdict | None = None
    ranks_only: bool = False
    """Whether only ranks are compared, because the unit of the printed numbers is unknown."""


class Chart(Strict):
    """A figure of the page."""

    figure: str
    """Name of a figure, as `tussle list figures` shows it."""
    caption: str
    metric: str | None = None
    at: dict[str, str] = Field(default_factory=dict)
    """Values of axes that select the points shown."""
    each: str | None = None
    """Axis with a figure for each of its values."""
    in_markdown: bool = False
    """Whether the Markdown page shows it, too; the HTML page shows all figures."""
    outliers: Outliers = "shown"
    """Whether boxes show values beyond their whiskers."""
    stands: Literal["goodput", "representative"] = "goodput"
    """Criterion for the run that represents its repetitions: its goodputs, or the study's own vector."""


class Part(Strict):
    """One experiment: a scenario, its figures and its numbers."""

    about: str
    scenario: str
    """Stem of a TOML file in the folder of the study."""
    algorithms: tuple[str, ...]
    """Keys of the scenario that hold the algorithms compared."""
    alike: bool = False
    """Whether all flows of a point have the same settings, so that the first flow's keys identify it."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Settings of `--quick`."""
    like: str | None = None
    """The part whose published rows are compared with these results, over a sweep."""
    sweeps: str | None = None
    """Key that the sweep varies: a setting that the study does not give."""
    charts: tuple[Chart, ...] = ()
    numbers: tuple[Column, ...] = ()
    """Numbers shown for each point, printed in the study or not."""


class Rival(Strict):
    """Results that a quantity is compared with, instead of those of the other algorithms."""

    where: dict[str, str] = Field(default_factory=dict)
    """Values of axes at which the same algorithm is the rival."""
    part: str | None = None
    """Part whose results are the rival's, if it is another one."""


class Range(Strict):
    """Bounds of a quantity, both included."""

    least: float
    most: float


class Check(Predicate):
    """One comparison that a statement is based on."""

    part: str
    relation: Literal["<", ">", "within"]
    """With "within", the quantity lies in a range, or is apart from the other side by `tolerance` at most."""
    tolerance: Annotated[float, Field(ge=1)] = 1.0
    """Factor of "within": 1.2 allows values from 1 / 1.2 of the other side, or of the range, to 1.2 times."""
    flow: Literal["each", "first", "second"] = "each"
    """Flows that count: all, or only the first or the second of each run. The value of a metric of runs
    counts as the first flow's."""
    pairs: Literal["all", "mixed", "same"] = "all"
    """Runs that count: all, those with several algorithms, or those with a single one."""
    of: tuple[str, ...]
    """Algorithms that the statement is about."""
    than: float | Range | Rival | tuple[str, ...] = ()
    """Other algorithms, by default all others; a bound; a range; or the same algorithm elsewhere."""
    quantile: float | None = None
    """The quantile over flows and runs that is compared; by default their mean."""
    by: tuple[str, ...] = ()
    """Axes; there is a comparison for each combination of their values. `repetition` may be one of them."""

    @model_validator(mode="after")
    def _has_two_sides(self) -> Self:
        has_range = isinstance(self.than, Range)
        if (self.relation == "within") != (has_range or self.tolerance > 1):
            raise ValueError(
                f"{self.words}: a range and a tolerance go with the relation within, and it needs one"
            )
        return self


class Statement(Strict):
    """A conclusion of the study."""

    says: str
    source: str
    """Section or table of the study."""
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]


class OwnHosts(Strict):
    """The hosts of a study, as far as they are known."""

    about: str
    """Description of the hosts, and its source."""
    settings: dict[str, Any]
    """Settings by their keys in a scenario, such as `hosts.hz`, in place of those of every part."""


class Study(Strict):
    """A published study, or one that asks its question again with the algorithms and hosts of today."""

    name: str
    title: str
    about: str
    follows: str | None = None
    """Name of the study whose question this one asks again. Nothing of it is printed; its statements are
    those of the documents among its sources."""
    sources: tuple[str, ...]
    not_given: tuple[str, ...]
    """Facts that the study does not give, and the choices made for them."""
    causes: tuple[str, ...] = ()
    """Why the results differ from those of the study, each with the part that shows it, if a part does; with
    code between backticks."""
    hosts: OwnHosts | None = None
    parts: dict[str, Part]
    tables: tuple[Table, ...] = ()
    statements: tuple[Statement, ...] = ()

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a study by its name; raises TussleError, with the nearest name, when there is none."""
        if name not in studies():
            raise TussleError(unknown("study", name, studies()))
        texts = ((_FOLDER / name / f"{part}.toml").read_text("utf-8") for part in ("study", "statements"))
        study, statements = map(tomllib.loads, texts)
        return cls.model_validate({"name": name, **study, **statements})

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        checks = [check for statement in self.statements for check in statement.checks]
        parts = {check.part for check in checks} | {part.like for part in self.parts.values() if part.like}
        columns = [column for table in self.tables for column in table.columns]
        metrics = {each.metric for each in (*columns, *(check.quantity for check in checks))}
        charts = {chart.figure for part in self.parts.values() for chart in part.charts}
        missing = (parts - self.parts.keys()) | (metrics - METRICS.keys()) | (charts - FIGURES.keys())
        if missing:
            raise ValueError(f"there is no {min(missing)}")
        if self.follows is not None and self.follows not in studies():
            raise ValueError(unknown("study", self.follows, studies()))
        return self

    @property
    def folder(self) -> Path:
        """Folder of the study's files."""
        return _FOLDER / self.name

    def scenario(self, part: str) -> Scenario:
        """Return the scenario of a part, without changes."""
        return _scenario(self.folder / f"{self.parts[part].scenario}.toml")

    def published(self) -> pl.DataFrame:
        """Return the printed numbers: `part, table`, keys of the scenario, and columns with units."""
        if self.follows is not None:
            return pl.DataFrame(schema=dict.fromkeys(_WHERE, pl.String))
        rows = pl.read_csv(self.folder / "published.csv", infer_schema_length=0)
        values = [name for name in rows.columns if not is_key(name) and name not in _WHERE]
        return rows.with_columns(pl.col(values).cast(pl.Float64))


@cache
def _scenario(file: Path) -> Scenario:
    """Return the scenario of a file, which is read and checked once."""
    return Scenario.load(file)


def studies() -> list[str]:
    """Return the names of the studies that come with Tussle."""
    return sorted(file.parent.name for file in _FOLDER.glob("*/study.toml"))


def is_key(column: str) -> bool:
    """Whether a column is a key of the scenario, such as `path.rtt`, and not a quantity."""
    return "." in column
