"""A suite, as `suites/NAME/suite.toml` describes it: its tests and the criteria that they answer."""

from __future__ import annotations

import hashlib
import tomllib
from collections.abc import Sequence
from pathlib import Path
from typing import Any, Literal, Self

from pydantic import Field, model_validator

from tussle.errors import TussleError, unknown
from tussle.metrics import REGISTRY as METRICS
from tussle.predicates import Predicate, Strict
from tussle.scenario import Scenario

_FOLDER = Path(__file__).parent / "data"

Strength = Literal["MUST", "SHOULD", "MAY", "should", "ought", "-"]
"""Strength of a requirement, in the document's own word: only upper case has the meaning of RFC 2119
(RFC 8174). "-" if the document has none."""


class Test(Strict):
    """A scenario that the candidate runs, and that each reference runs in its place."""

    __test__ = False  # not a test of pytest, which collects classes of this name

    about: str
    scenario: str
    """Stem of a TOML file in the folder of the suite."""
    candidate: tuple[str, ...]
    """Keys of the scenario that hold the candidate, such as `flows.0.algorithm`."""
    full: dict[str, Any] = Field(default_factory=dict)
    """Settings of `--full`; the scenario itself is the quick form."""
    words: dict[str, str] = Field(default_factory=dict)
    """Words for axes in the description of a case, by their keys; an empty text leaves the axis out."""
    queue: bool = False
    """Whether `--queue` replaces the queue at the bottleneck."""
    drop_tail: bool = False
    """Whether a drop-tail queue of the same size replaces it, for comparison."""


class Claim(Predicate):
    """A predicate that holds at every point of a test.

    With "<", the value is at most the larger of `bound` and `margin` times the reference's value plus
    `slack`; with ">", at least the smaller of `bound` and `margin` times the reference's value minus `slack`.
    """

    test: str
    relation: Literal["<", ">"]
    flows: str = ""
    """Beginning of the names of the flows that count; by default all."""
    combine: Literal["mean", "min", "max", "sum", "p95"] = "mean"
    """The function that combines the values of several flows into one."""
    bound: float | None = None
    reference: str | None = None
    """The algorithm that runs in the candidate's place for comparison; "any": the reference with the most
    lenient limit; "victim": the one that `victim` names."""
    victim: str | None = None
    """Axis whose value is the reference, if `reference` is "victim"."""
    against: str | None = None
    """Another test in which the candidate itself is the reference."""
    slack: float = 0.0
    missing: float | None = None
    """The number that stands for an unknown value, such as a time that was never reached. Without it a run
    with an unknown value does not count."""

    @model_validator(mode="after")
    def _has_limit(self) -> Self:
        if self.bound is None and self.reference is None and self.against is None:
            raise ValueError(f"{self.words}: give bound, reference or against")
        if (self.reference == "victim") != (self.victim is not None):
            raise ValueError(f'{self.words}: reference = "victim" and victim belong together')
        return self


class Criterion(Strict):
    """One criterion of the document."""

    name: str
    """Short name, by which results are compared: "harm-reno"."""
    section: str
    strength: Strength
    says: str
    """The criterion in our own words."""
    threshold: str = ""
    """The source of the threshold; empty: the document gives none, and it is Tussle's own."""
    not_applicable: str = ""
    """The reason why the criterion does not apply."""
    not_testable: str = ""
    """The reason why Tussle cannot test the criterion, or a part of it."""
    claims: tuple[Claim, ...] = ()

    @model_validator(mode="after")
    def _has_an_answer(self) -> Self:
        if not self.claims and not self.not_applicable and not self.not_testable:
            raise ValueError(f"{self.name}: give claims, not_applicable or not_testable")
        return self


class Suite(Strict):
    """The criteria of a document, and the tests that answer them."""

    name: str
    title: str
    about: str
    document: str
    sources: tuple[str, ...]
    differs: tuple[str, ...] = ()
    """Differences of the tests from the document."""
    references: tuple[str, ...] = ("reno", "cubic")
    """Algorithms that run in the candidate's place, whose numbers are shown beside its own."""
    queues: bool = False
    """Whether the suite is about a queue, which `--queue` names."""
    tests: dict[str, Test]
    criteria: tuple[Criterion, ...]

    @classmethod
    def load(cls, name: str) -> Self:
        """Read a suite by its name; raises TussleError, with the nearest name, when there is none."""
        if name not in suites():
            raise TussleError(unknown("suite", name, suites()))
        files = [_FOLDER / name / each for each in ("suite.toml", "criteria.toml")]
        text = "\n".join(file.read_text("utf-8") for file in files if file.exists())
        return cls.model_validate({"name": name, **tomllib.loads(text)})

    @model_validator(mode="after")
    def _names_exist(self) -> Self:
        claims = [claim for criterion in self.criteria for claim in criterion.claims]
        tests = {each for claim in claims for each in (claim.test, claim.against) if each}
        metrics = {claim.quantity.metric for claim in claims}
        named = {claim.reference for claim in claims if claim.reference not in (None, "any", "victim")}
        missing = (tests - self.tests.keys()) | (metrics - METRICS.keys()) | (named - {*self.references})
        if missing:
            raise ValueError(f"there is no {min(map(str, missing))}")
        names = [criterion.name for criterion in self.criteria]
        if twice := {name for name in names if names.count(name) > 1}:
            raise ValueError(f"two criteria are called {min(twice)}")
        return self

    def digest(self) -> str:
        """Return a digest of the suite's files, which shows whether a table of results is up to date."""
        hashing = hashlib.sha256()
        for file in sorted((_FOLDER / self.name).iterdir()):
            hashing.update(file.name.encode() + b"\0" + file.read_bytes() + b"\0")
        return hashing.hexdigest()[:16]

    def only(self, names: Sequence[str]) -> Self:
        """Return the suite with these criteria and their tests; raises TussleError for an unknown one."""
        known = [criterion.name for criterion in self.criteria]
        for name in names:
            if name not in known:
                raise TussleError(f"--only: {unknown(f'criterion of {self.name}', name, known)}")
        kept = tuple(criterion for criterion in self.criteria if criterion.name in names)
        claims = [claim for criterion in kept for claim in criterion.claims]
        needed = {test for claim in claims for test in (claim.test, claim.against)}
        tests = {name: test for name, test in self.tests.items() if name in needed}
        return self.model_copy(update={"criteria": kept, "tests": tests})

    def scenario(self, test: str) -> Scenario:
        """Return the scenario of a test, in its quick form and without the candidate."""
        return Scenario.load(_FOLDER / self.name / f"{self.tests[test].scenario}.toml")


def suites() -> list[str]:
    """Return the names of the suites that come with Tussle."""
    return sorted(file.parent.name for file in _FOLDER.glob("*/suite.toml"))
