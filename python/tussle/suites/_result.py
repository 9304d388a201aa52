"""The result of a suite: `verdicts.json`, which `tussle suite --json` prints and `tussle compare` reads."""

from __future__ import annotations

from pathlib import Path
from typing import Literal

from pydantic import BaseModel, ConfigDict, ValidationError

from tussle.errors import TussleError
from tussle.suites._suite import Strength

RESULT = "verdicts.json"

Verdict = Literal["pass", "look", "fail", "not applicable", "not testable here"]
_FORMAT = 1


class _Record(BaseModel):
    model_config = ConfigDict(extra="forbid", frozen=True, use_attribute_docstrings=True)


class Number(_Record):
    """The median over the repetitions of a point."""

    median: float
    """The median, in the unit of `words`."""
    low: float | None
    """Lower end of the 95 % interval of the median; null with fewer than six repetitions."""
    high: float | None
    """Upper end of that interval; null with fewer than six repetitions."""
    runs: int
    """Number of repetitions."""


class CaseResult(_Record):
    """One claim at one point of a test."""

    test: str
    """Name of the test, and of the folder of its runs: `runs/TEST/candidate`."""
    words: str
    """The compared quantity, with its unit."""
    point: dict[str, str]
    """Values of the test's axes, by their keys in the scenario."""
    where: str
    """The point in words; empty if the test has a single one."""
    verdict: Verdict
    """`pass`, `look` or `fail`."""
    relation: Literal["<", ">"]
    """Whether the value is to be at most the limit ("<") or at least (">")."""
    value: Number | None
    """The candidate's value; null if no repetition has one."""
    limit: float | None
    """Median of the limit: a constant, or derived from a reference in the same repetition."""
    limit_words: str
    """Derivation of the limit."""
    distance_low: float | None
    """Lower end of the 95 % interval of the distance to the limit, positive where the claim holds."""
    distance_high: float | None
    """Upper end of that interval."""
    references: dict[str, Number]
    """Value of each reference in the candidate's place, by its name."""


class CriterionResult(_Record):
    """The verdict on one criterion."""

    name: str
    """Short name, by which two results are compared."""
    section: str
    """Section of the document."""
    strength: Strength
    """Strength of the requirement: MUST, SHOULD, MAY, or "-" if the document does not say."""
    says: str
    """The criterion in words."""
    verdict: Verdict
    """`fail` if any case fails, else `look` if any is not sure, else `pass`."""
    why: str
    """The decisive case, or the reason why there is none."""
    threshold: str
    """Origin of the threshold; it says so if the threshold is Tussle's own."""
    limits: str
    """The part of the criterion that is not tested; may be empty."""
    cases: tuple[CaseResult, ...]
    """Every claim at every point; empty without a test."""


class SuiteResult(_Record):
    """All verdicts of a run of a suite."""

    format: int = _FORMAT
    """Version of this layout."""
    suite: str
    """Name of the suite."""
    document: str
    """The document that the criteria are from."""
    algorithm: str
    """The candidate, with its parameters."""
    engine: str
    """The engine that executed the runs."""
    size: Literal["quick", "full"]
    """The form of the tests."""
    queue: str | None
    """The queue of `--queue`."""
    tussle: str
    """Version of Tussle."""
    command: str
    """The command that repeats the run."""
    verdict: Verdict
    """`fail` if any criterion fails, else `look` if any is to be looked at, else `pass`."""
    criteria: tuple[CriterionResult, ...]
    """The criteria, in the order of the document."""

    def count(self, verdict: Verdict) -> int:
        """Return the number of criteria with a verdict."""
        return sum(criterion.verdict == verdict for criterion in self.criteria)


def write_result(result: SuiteResult, folder: Path) -> Path:
    """Write `verdicts.json`; returns its path."""
    file = folder / RESULT
    file.write_text(result.model_dump_json(indent=1) + "\n", "utf-8")
    return file


def is_result(folder: Path) -> bool:
    """Return whether a folder holds the result of a suite."""
    return (folder / RESULT).is_file()


def read_result(folder: Path) -> SuiteResult:
    """Read the result in a folder; raises TussleError if it is damaged, or of a newer version of Tussle."""
    try:
        return SuiteResult.model_validate_json((folder / RESULT).read_bytes())
    except ValidationError as error:
        raise TussleError(
            f"{folder / RESULT} is not a result of this version of Tussle; run the suite again"
        ) from error
