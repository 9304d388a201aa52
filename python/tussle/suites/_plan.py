"""The runs of a suite: each test with the candidate, and with each reference in its place."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Literal, get_args

from tussle.catalog import catalog, groups
from tussle.errors import TussleError, unknown
from tussle.own_algorithms import Reference, is_own
from tussle.scenario import Scenario
from tussle.suites._suite import Suite

Size = Literal["quick", "full"]
SIZES: tuple[Size, ...] = get_args(Size)
_ALGORITHM = ".algorithm"
_NO_CONTROL = "udp"


@dataclass(frozen=True)
class Candidate:
    """The algorithm that a suite tests."""

    algorithm: str
    """A name of `tussle list algorithms`, or a file and class."""
    parameters: Mapping[str, int] = field(default_factory=dict)

    @property
    def label(self) -> str:
        """Return its name on pages, with its parameters."""
        given = ",".join(f"{key}={value}" for key, value in self.parameters.items())
        name = Path(self.algorithm).name if is_own(self.algorithm) else self.algorithm
        return f"{name}({given})" if given else name


@dataclass(frozen=True)
class Task:
    """A test with one algorithm in the candidate's place."""

    test: str
    contender: str
    """`candidate`, or the name of a reference."""
    scenario: Scenario

    def folder(self, output: Path) -> Path:
        """Return the folder of its dataset."""
        return output / "runs" / self.test / self.contender


def candidate_of(algorithm: str, parameters: Mapping[str, int]) -> Candidate:
    """Return the candidate; raises TussleError for an algorithm that no flow can have."""
    if algorithm == _NO_CONTROL:
        raise TussleError("--algorithm: udp has no congestion control; give an algorithm that has one")
    if algorithm in groups():
        raise TussleError(f"--algorithm: {algorithm} is a group; give one algorithm")
    if not is_own(algorithm) and algorithm not in catalog().algorithms:
        raise TussleError(f"--algorithm: {unknown('algorithm', algorithm, catalog().algorithms)}")
    reference = Reference.parse(algorithm)
    absolute = str(reference._replace(file=reference.file.absolute())) if reference else algorithm
    return Candidate(absolute, parameters)


def tasks(suite: Suite, candidate: Candidate, size: Size, queue: str | None = None) -> list[Task]:
    """Return the runs of a suite; the candidate is not run again as a reference."""
    found = []
    for name in suite.tests:
        contenders = {"candidate": candidate} | {each: Candidate(each) for each in suite.references}
        for contender, each in contenders.items():
            if contender == "candidate" or each != candidate:
                found.append(Task(name, contender, _scenario(suite, name, each, size, queue)))
    return found


def _scenario(suite: Suite, name: str, contender: Candidate, size: Size, queue: str | None) -> Scenario:
    test = suite.tests[name]
    settings: dict[str, Any] = dict(test.full) if size == "full" else {}
    settings |= dict.fromkeys(test.candidate, contender.algorithm)
    if contender.parameters:
        keys = [key.removesuffix(_ALGORITHM) + ".parameters" for key in test.candidate]
        settings |= {key: dict(contender.parameters) for key in keys}
    scenario = suite.scenario(name).with_settings(settings)
    chosen = "fifo" if test.drop_tail else queue if test.queue else None
    return _with_queue(scenario, chosen) if chosen else scenario


def _with_queue(scenario: Scenario, queue: str) -> Scenario:
    tables = scenario.to_dict()
    limit = tables["path"].get("queue", {}).get("limit")
    chosen = {"kind": queue} | ({"limit": limit} if limit is not None else {})
    tables["path"] = {**tables["path"], "queue": chosen}
    return Scenario.from_dict(tables)
