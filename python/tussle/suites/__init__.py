"""Evaluation suites: criteria of a document, tested on an algorithm, with a verdict on each.

A suite is a folder of `suites/`: `suite.toml` and scenarios. It has no code: a test that needs something new
gets a new metric of the registry, or a new setting of scenarios.
"""

from tussle.suites._changes import Change, ChangesDocument, changes, changes_document
from tussle.suites._graphs import graphs
from tussle.suites._page import write_page
from tussle.suites._plan import SIZES, Candidate, Size, Task, candidate_of, tasks
from tussle.suites._result import (
    RESULT,
    CaseResult,
    CriterionResult,
    Number,
    SuiteResult,
    Verdict,
    is_result,
    read_result,
    write_result,
)
from tussle.suites._suite import Claim, Criterion, Suite, suites
from tussle.suites._verdicts import decide, limit_words

__all__ = [
    "RESULT",
    "SIZES",
    "Candidate",
    "CaseResult",
    "Change",
    "ChangesDocument",
    "Claim",
    "Criterion",
    "CriterionResult",
    "Number",
    "Size",
    "Suite",
    "SuiteResult",
    "Task",
    "Verdict",
    "candidate_of",
    "changes",
    "changes_document",
    "decide",
    "graphs",
    "is_result",
    "limit_words",
    "read_result",
    "suites",
    "tasks",
    "write_page",
    "write_result",
]
