"""The report: one HTML file that answers the question of a scenario, offline."""

from __future__ import annotations

from tussle.report._page import Results, write

__all__ = ["Results", "write"]
