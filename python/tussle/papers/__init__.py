"""Published studies, run again: printed numbers beside Tussle's, and conclusions checked.

A study is a folder of `papers/`: `study.toml`, `statements.toml`, scenarios, `published.csv` and the
template of its page. It has no code: a table or a figure that needs something new gets a new metric or
figure of the registry.
"""

from tussle.papers._compare import Row, both_orders, rows
from tussle.papers._content import (
    STUDY_HOSTS,
    About,
    Content,
    Results,
    content,
    number,
    ranks_words,
    results_in,
    two_digits,
    verdicts_words,
)
from tussle.papers._markdown import write_markdown
from tussle.papers._page import save, write
from tussle.papers._plan import Setting, chosen_parts, estimate_s, planned
from tussle.papers._printed import on_printed_numbers
from tussle.papers._scores import Score, score
from tussle.papers._statements import Checked, check
from tussle.papers._study import Study, studies

__all__ = [
    "STUDY_HOSTS",
    "About",
    "Checked",
    "Content",
    "Results",
    "Row",
    "Score",
    "Setting",
    "Study",
    "both_orders",
    "check",
    "chosen_parts",
    "content",
    "estimate_s",
    "number",
    "on_printed_numbers",
    "planned",
    "ranks_words",
    "results_in",
    "rows",
    "save",
    "score",
    "studies",
    "two_digits",
    "verdicts_words",
    "write",
    "write_markdown",
]
