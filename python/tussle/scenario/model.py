"""The scenario, as people write it, and the runs that it describes."""

import os
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from html import escape
from typing import Annotated, Any, Self

import tomlkit
from pydantic import Field, ModelWrapValidatorHandler, ValidationError, ValidationInfo, model_validator

from tussle.errors import TussleError, expect, plural, shown
from tussle.html import paragraph, table
from tussle.own_sources import with_classes_named
from tussle.scenario.axes import MOST_RUNS, axes_of, combinations, combinations_count
from tussle.scenario.baseline import alone, baseline_flows
from tussle.scenario.cases import Case, case_axes, misplaced_keys
from tussle.scenario.fields import Axis, Line, PositiveTime, Repetitions, Seed, Switch, Time
from tussle.scenario.hosts import Hosts
from tussle.scenario.named_files import (
    names_recording,
    recording_names,
    with_files_beside,
    with_stored_recordings,
)
from tussle.scenario.problems import problems_of
from tussle.scenario.randomness import REPETITIONS, random_parts
from tussle.scenario.ready import ready_scenario
from tussle.scenario.resolve import problems_between_fields, resolve, seed_of
from tussle.scenario.table import Table
from tussle.scenario.tables import Flow, Path, Record, Steady
from tussle.scenario.text import read_toml, with_settings, without_empty_tables


@dataclass(frozen=True)
class Point:
    """One combination of the axes' values."""

    index: int
    axes: dict[str, str]
    """The value of each axis as written, by its key in the scenario."""
    scenario: "Scenario"
    """The scenario with each axis replaced by its value: a scenario without axes."""

    def resolve(self, seed: int) -> dict[str, Any]:
        """Return the run that an engine receives (crates/tussle-core/src/run/mod.rs)."""
        return resolve(self.scenario, seed)


@dataclass(frozen=True)
class PlannedRun:
    """One repetition of one point."""

    index: int
    point: int
    repetition: int
    seed: int
    axes: dict[str, str]
    run: dict[str, Any]


class Scenario(Table):
    """An experiment. A list of values in the place of one value means one run for each."""

    question: Line | None = None
    """The question that the experiment answers, in one line. The report opens with it."""
    duration: Axis[PositiveTime]
    """The duration of each run, in simulated time."""
    steady: Steady = Steady()
    """The part of the run that the metrics measure."""
    seed: Seed = 1
    """The seed of all random numbers. A scenario with the same seed gives the same bytes."""
    repetitions: Repetitions | None = None
    """The number of runs of each point, each with other random numbers. A repetition has the same random
    numbers at every point, so that points can be compared pair by pair. Default: 10 if anything is random at
    any point, else 1: repetitions without randomness are identical."""
    baseline: Switch = False
    """Whether to add baseline runs: each flow alone, on the same path and in the same interval, for the
    metric harm. Flows that differ only in their competitors have one baseline run."""
    start_jitter: Axis[Time] = "0 s"
    """The largest random delay of a flow's start. Each flow of each repetition has its own."""
    record: Record = Record()
    """The records of each run."""
    path: Path
    """The path that all flows have in common."""
    hosts: Hosts = Hosts()
    """Settings of the hosts at both ends of every flow."""
    flows: Annotated[tuple[Flow, ...], Field(min_length=1)]
    """The flows on the path."""
    cases: tuple[Case, ...] = ()
    """Chosen points, instead of all combinations of lists. Each case is a table of values by their keys, such
    as `"path.rate" = "10 Mbit/s"`, that replace those of the scenario. Each case is combined with all values
    of the axes. Default: none."""

    def __new__(cls, *positional: object, **_: object) -> Self:
        """Refuse a value without a name, for which pydantic raises an error about its own code."""
        if positional:
            raise TussleError(
                f"{shown(positional[0])} has no name; give values by their names, like Scenario(duration=…), "
                "or use Scenario.from_dict for tables and Scenario.load for a file"
            )
        return super().__new__(cls)

    @model_validator(mode="wrap")
    @classmethod
    def _in_sentences(cls, data: Any, handler: ModelWrapValidatorHandler[Self], info: ValidationInfo) -> Self:
        """Convert all problems to one [`TussleError`], and check combinations of fields."""
        source = (info.context or {}).get("source", "scenario")
        try:
            scenario = handler(data)
        except ValidationError as error:
            found = problems_of(error, cls, data)
        else:
            found = misplaced_keys(scenario.cases) if scenario.cases else problems_between_fields(scenario)
            if not found:
                scenario._check_cases(source)
                return scenario
        raise TussleError("\n".join(problem.sentence(source) for problem in found))

    @classmethod
    def load(cls, path: str | os.PathLike[str]) -> Self:
        """Read a scenario: a file, or the name of a ready one.

        Raises `TussleError` with one line for each problem.
        """
        expect("path", path, (str, os.PathLike), "a file or a name")
        file = ready_scenario(path)
        source = f"scenario {file.name}"
        tables = read_toml(file, source, "`tussle list scenarios` shows the ready ones")
        tables = with_files_beside(file.parent, tables)
        return cls.model_validate(tables, context={"source": source})

    @classmethod
    def from_dict(cls, data: Mapping[str, Any]) -> Self:
        """Make a scenario from the tables of its file, as `tomllib` returns them.

        An algorithm may also be a class. A class from a cell of a notebook is written into a file of the
        user's cache, with the parts of the notebook that it uses; its name is then that of the file and the
        class.
        """
        return cls.model_validate(with_classes_named(data))

    def __repr__(self) -> str:
        axes = "".join(f", {len(values)} x {key}" for key, values in self.axes().items())
        cases = f", {plural(len(self.cases), 'case')}" if self.cases else ""
        flows = plural(len(self.flows), "flow")
        return f"<Scenario {self.question or 'without a question'}: {flows}{axes}{cases}>"

    def __str__(self) -> str:
        return repr(self)

    def _repr_html_(self) -> str:
        axes = [(key, ", ".join(map(str, values))) for key, values in self.axes().items()]
        toml = f"<details><summary>as TOML</summary><pre>{escape(self.to_toml())}</pre></details>"
        title = paragraph(self.question or "A scenario without a question.", strong=True)
        return title + (table(["axis", "values"], axes) if axes else "") + toml

    def to_dict(self) -> dict[str, Any]:
        """Return the tables of a file; `Scenario.from_dict` makes an equal scenario of them."""
        tables = without_empty_tables(self.model_dump(mode="json", by_alias=True, exclude_none=True))
        tables.setdefault("path", {})  # cases may give the whole path
        return tables

    def to_toml(self) -> str:
        """Return the text of a file; loading it gives a scenario equal to this one."""
        return tomlkit.dumps(self.to_dict())

    def recordings(self) -> dict[str, str]:
        """Return the paths of the recordings that this scenario names, each with its name in results.

        The name is the shortest end of the path that no other recording here has.
        """
        return recording_names(self.to_dict())

    def to_stored_toml(self) -> str:
        """Return the text of a file that has its recordings beside it, in the folder `recordings`."""
        return tomlkit.dumps(with_stored_recordings(self.to_dict(), self.recordings()))

    def set(self, key: str, value: Any) -> Self:
        """Return this scenario with another value at `key`, such as `path.rate` or `flows.0.algorithm`."""
        return self.with_settings({key: value})

    def with_settings(self, settings: Mapping[str, Any]) -> Self:
        """Return this scenario with other values at some keys, checked together."""
        expect("settings", settings, Mapping, 'values by their keys, like {"path.rate": "50 Mbit/s"}')
        if not settings:
            return self
        return type(self).from_dict(with_settings(self.to_dict(), settings))

    def axes(self) -> dict[str, tuple[Any, ...]]:
        """Return the values of each axis by its key; the last axis varies fastest."""
        return axes_of(self)

    def points(self) -> list[Point]:
        """Return one point for each combination of the axes."""
        recordings = self.recordings()

        def named(axes: dict[str, str]) -> dict[str, str]:
            return {key: recordings[at] if names_recording(key) else at for key, at in axes.items()}

        return [
            Point(index, named(axes), scenario) for index, (axes, scenario) in enumerate(self._combinations())
        ]

    def _combinations(self) -> Iterator[tuple[dict[str, str], Self]]:
        """Yield the values of the axes, as written, and the scenario with them in place."""
        if not self.cases:
            yield from combinations(self)
        for case, with_case in self._with_cases("scenario"):
            for axes, scenario in combinations(with_case):
                yield case_axes(case) | axes, scenario

    def runs(self) -> list[PlannedRun]:
        """Return every run, ready for an engine: the repetitions of each point, then the baseline runs."""
        points = self.points()
        seeds = self._seeds(points)
        planned = [(point.index, point.axes, [point.resolve(seed) for seed in seeds]) for point in points]
        if self.baseline:
            planned += _baseline_runs(points, seeds)
        return [
            PlannedRun(point * len(seeds) + repetition, point, repetition, seed, axes, runs[repetition])
            for point, axes, runs in planned
            for repetition, seed in enumerate(seeds)
        ]

    def random_parts(self) -> list[str]:
        """Return what makes repetitions differ: `start_jitter`, and names of elements and of flows.

        Empty if all repetitions of a point are the same run.
        """
        return list(dict.fromkeys(part for point in self.points() for part in random_parts(point.scenario)))

    def _with_cases(self, source: str) -> Iterator[tuple[Case, Self]]:
        """Yield each case, and the scenario with its values; raises TussleError where they do not fit."""
        tables = {key: value for key, value in self.to_dict().items() if key != "cases"}
        for index, case in enumerate(self.cases):
            where = f"{source}, cases.{index}"
            try:
                chosen = with_settings(tables, case)
            except TussleError as error:
                raise TussleError(f"{where}: {error}") from None
            yield case, self.model_validate(chosen, context={"source": where})

    def _check_cases(self, source: str) -> None:
        runs = 0
        for _, with_case in self._with_cases(source):
            runs += combinations_count(with_case) * (self.repetitions or 1)
            if runs > MOST_RUNS:
                raise TussleError(f"{source}, cases: more than {MOST_RUNS} runs; give fewer cases or values")

    def _seeds(self, points: list[Point]) -> list[int]:
        """Return the seed of each repetition; without `repetitions`, the points decide their number."""
        repetitions = self.repetitions
        if repetitions is None:
            repetitions = REPETITIONS if any(random_parts(point.scenario) for point in points) else 1
            if len(points) * repetitions > MOST_RUNS:
                raise TussleError(
                    f"scenario: its {len(points)} points have random parts, and {repetitions} repetitions of "
                    f"each make more than {MOST_RUNS} runs; shorten a list, or write repetitions"
                )
        return [seed_of(self.seed, repetition) for repetition in range(repetitions)]


def _baseline_runs(
    points: list[Point], seeds: list[int]
) -> list[tuple[int, dict[str, str], list[dict[str, Any]]]]:
    """Return a point for each flow that is not already alone, with the axes that affect it."""
    found: dict[tuple[tuple[str, str], ...], list[dict[str, Any]]] = {}
    for point in points:
        new: dict[tuple[tuple[str, str], ...], int] = {}
        for index, axes in baseline_flows(point.scenario, point.axes).items():
            if (key := tuple(axes.items())) not in found:
                new.setdefault(key, index)
        of_seeds = [alone(point.resolve(seed), new.values()) for seed in seeds] if new else []
        found |= dict(zip(new, map(list, zip(*of_seeds, strict=True)), strict=True))
    return [(len(points) + number, dict(key), runs) for number, (key, runs) in enumerate(found.items())]
