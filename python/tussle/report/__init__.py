"""The report: one HTML file with the results of a dataset, which works offline."""

from __future__ import annotations

from tussle.report._drawing import Drawing
from tussle.report._page import Results, answer, question, write

__all__ = ["Drawing", "Results", "answer", "question", "write"]
