"""A published study, as `papers/NAME/study.toml` describes it: its parts, its tables, its statements."""

from __future__ import annotations

import tomllib
from pathlib import Path
from typing import Annotated, Any, Literal, Self

import polars as pl
from pydantic import BaseModel, ConfigDict, Field, model_validator

from tussle.errors import TussleError, unknown
from tussle.figures import REGISTRY as FIGURES
from tussle.figures import Outliers
from tussle.metrics import REGISTRY as METRICS
from tussle.scenario import Scenario

_FOLDER = Path(__file__).parent / "studies"
_WHERE = ("part", "table")
"""Columns of `published.csv` that say where a row belongs; those with a dot are keys of the scenario."""


class _Told(BaseModel):
    """A table of a study's file; what it does not know is a mistake."""

    model_config = ConfigDict(extra="forbid", frozen=True)


class Quantity(_Told):
    """What is computed from a dataset: a column of a metric, in the unit that the study prints."""

    metric: str = "goodput"
    """From `tussle list metrics`, one of runs or of flows."""
    column: str | None = None
    """Default: the metric's first."""
    scale: float = 1.0
    """Factor from the metric's unit to the printed one."""
    over: Literal["steady", "life"] | tuple[float, float] = "steady"
    """Of goodput: the steady interval, each flow's life, or between two times in seconds."""


class Column(Quantity):
    """A printed quantity, and how ours is computed."""

    name: str
    """The column of `published.csv`; it ends in the unit."""
    words: str
    flow: int | Literal["mean", "sum"] = "mean"
    """Whose value: that of one flow, or of all together. A metric of runs has one anyway."""


class Verdict(_Told):
    """What a row of a table says in a word."""

    columns: tuple[str, ...]
    """One column: its value decides. Two columns: the share of the smaller one in their sum decides."""
    at_least: float
    yes: str
    no: str


class Table(_Told):
    """A published table."""

    name: str
    """As the column `table` of `published.csv` has it."""
    title: str
    columns: tuple[Column, ...]
    note: str = ""
    group: str | None = None
    """A key: the rows of each of its values stand apart, sorted by what the first column has."""
    verdict: Verdict | None = None
    ranks_only: bool = False
    """Whether only ranks are compared, because the printed numbers have another unit than the table says."""


class Chart(_Told):
    """A figure of the page."""

    figure: str
    """From `tussle list figures`."""
    caption: str
    metric: str | None = None
    at: dict[str, str] = Field(default_factory=dict)
    """Values of axes that choose the points drawn."""
    each: str | None = None
    """An axis: one such figure for each of its values."""
    in_markdown: bool = False
    """Whether the Markdown page shows it, too; the HTML page shows all figures."""
    outliers: Outliers = "shown"
    """Whether boxes show what is beyond their whiskers."""
    stands: Literal["goodput", "representative"] = "goodput"
    """What makes a run stand for its repetitions: its goodputs, or the study's own vector."""


class Part(_Told):
    """One experiment: a scenario, and what is shown of it."""

    about: str
    scenario: str
    """The stem of a TOML file beside the study's."""
    algorithms: tuple[str, ...]
    """Keys of the scenario that hold the algorithms compared."""
    alike: bool = False
    """Whether all flows of a point have the same settings, so that the first flow's keys identify it."""
    quick: dict[str, Any] = Field(default_factory=dict)
    """Settings of `--quick`."""
    like: str | None = None
    """The part whose published rows these results are held against too, over a sweep."""
    sweeps: str | None = None
    """The key that the sweep varies: what the study does not tell."""
    charts: tuple[Chart, ...] = ()
    numbers: tuple[Column, ...] = ()
    """What is shown of each point, printed in the study or not."""


class Rival(_Told):
    """What a quantity is held against, instead of the other algorithms."""

    where: dict[str, str]
    """The same algorithm's at these values of axes."""


class Check(_Told):
    """One comparison that a statement stands on."""

    part: str
    words: str
    """What is compared, for the evidence: "share (%)"."""
    quantity: Quantity
    flow: Literal["each", "first", "second"] = "each"
    """Which flows count: all, or only the first or the second of each run. The value of a metric of runs
    counts as the first flow's."""
    pairs: Literal["all", "mixed", "same"] = "all"
    """Which runs count: all, those with several algorithms, or those with one."""
    of: tuple[str, ...]
    """Algorithms that the statement is about."""
    relation: Literal["<", ">"]
    than: float | Rival | tuple[str, ...] = ()
    """Other algorithms, by default all others; a bound; or the same algorithm elsewhere."""
    margin: float = 1.0
    """The other side is multiplied by it: 1.1 with ">" asks for a tenth more."""
    where: dict[str, str | tuple[str, ...]] = Field(default_factory=dict)
    """Values of axes, to which the comparison is kept."""
    by: tuple[str, ...] = ()
    """Axes: the comparison is made at each combination of their values. `repetition` may be one."""


class Statement(_Told):
    """A conclusion of the study."""

    says: str
    source: str
    """Where in the study."""
    checks: Annotated[tuple[Check, ...], Field(min_length=1)]


class Study(_Told):
    """A published study."""

    name: str
    title: str
    about: str
    sources: tuple[str, ...]
    untold: tuple[str, ...]
    """What the study does not give, and what was chosen."""
    parts: dict[str, Part]
    tables: tuple[Table, ...] = ()
    statements: tuple[Statement, ...] = ()

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a study by its name; raises TussleError, with the nearest name, when there is none."""
        if name not in studies():
            raise TussleError(unknown("study", name, studies()))
        text = (_FOLDER / name / "study.toml").read_text("utf-8")
        return cls.model_validate({"name": name, **tomllib.loads(text)})

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
        return self

    @property
    def folder(self) -> Path:
        """Where its files stand."""
        return _FOLDER / self.name

    def scenario(self, part: str) -> Scenario:
        """Return the scenario of a part, as the study has it."""
        return Scenario.load(self.folder / f"{self.parts[part].scenario}.toml")

    def published(self) -> pl.DataFrame:
        """Return the printed numbers: `part, table`, keys of the scenario, and columns with units."""
        rows = pl.read_csv(self.folder / "published.csv", infer_schema_length=0)
        values = [name for name in rows.columns if not is_key(name) and name not in _WHERE]
        return rows.with_columns(pl.col(values).cast(pl.Float64))


def studies() -> list[str]:
    """Names of the studies that come with Tussle."""
    return sorted(file.parent.name for file in _FOLDER.glob("*/study.toml"))


def is_key(column: str) -> bool:
    """Tell keys of the scenario, such as `path.rtt`, from quantities."""
    return "." in column
