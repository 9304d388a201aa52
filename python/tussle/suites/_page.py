"""The page of a suite: the verdicts first, and the evidence of each. No scripts, no network."""

from __future__ import annotations

import re
from collections.abc import Mapping
from pathlib import Path
from typing import NamedTuple

from tussle.errors import TussleError
from tussle.pages import environment
from tussle.scenario import Scenario
from tussle.suites._charts import of_claim
from tussle.suites._result import CaseResult, CriterionResult, Number, SuiteResult
from tussle.suites._suite import Suite

PAGE = "index.html"
_LINES_BEFORE_TAGS = re.compile(r"\s*\n\s*<")
_VERDICTS = ("pass", "look", "fail", "not applicable", "not testable here")


class _Claim(NamedTuple):
    """The cases of one claim, with their figure."""

    words: str
    test: str
    limit_words: str
    cases: list[CaseResult]
    svg: str


class _Row(NamedTuple):
    """A criterion with its evidence."""

    criterion: CriterionResult
    claims: list[_Claim]
    tests: list[str]


def write_page(
    suite: Suite,
    result: SuiteResult,
    scenarios: Mapping[str, Scenario],
    folder: Path,
    graphs: Mapping[str, str],
) -> Path:
    """Write the page into a folder; returns its path. Raises TussleError when it cannot be written.

    `scenarios` has the candidate's scenario of each test that ran, and `graphs` the graphs of tests of a
    queue, as SVG.
    """
    templates = environment("tussle.suites")
    templates.filters |= {"number": _number, "interval": _interval}
    page = templates.get_template("suite.html").render(
        suite=suite,
        result=result,
        rows=[_row(criterion, result.algorithm) for criterion in result.criteria],
        counts={verdict: result.count(verdict) for verdict in _VERDICTS if result.count(verdict)},
        graphs=graphs,
        scenarios={test: scenario.to_toml() for test, scenario in scenarios.items()},
    )
    file = folder / PAGE
    try:
        folder.mkdir(parents=True, exist_ok=True)
        file.write_text(_LINES_BEFORE_TAGS.sub("<", page), "utf-8")
    except OSError as error:
        raise TussleError(f"cannot write {folder}: {error.strerror}; give another folder (-o)") from error
    return file


def _row(criterion: CriterionResult, algorithm: str) -> _Row:
    groups: dict[tuple[str, str], list[CaseResult]] = {}
    for case in criterion.cases:
        groups.setdefault((case.words, case.test), []).append(case)
    claims = [
        _Claim(words, test, _limits(cases), cases, of_claim(cases, algorithm))
        for (words, test), cases in groups.items()
    ]
    return _Row(criterion, claims, list(dict.fromkeys(claim.test for claim in claims)))


def _limits(cases: list[CaseResult]) -> str:
    return "; ".join(dict.fromkeys(case.limit_words for case in cases))


def _number(value: float | None) -> str:
    """Write a number with three digits, or a dash for `None`.

    >>> _number(0.12345), _number(None), _number(12345.0)
    ('0.123', '-', '12345')
    """
    if value is None:
        return "-"
    return f"{value:.0f}" if abs(value) >= 1000 else f"{value:.3g}"  # noqa: PLR2004 (four digits and more)


def _interval(number: Number | None) -> str:
    """Write a median with its interval."""
    if number is None:
        return "-"
    if number.low is None or number.high is None:
        return _number(number.median)
    return f"{_number(number.median)} ({_number(number.low)} to {_number(number.high)})"
