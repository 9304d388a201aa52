"""Scenarios, as people write them with units and axes, and the runs that they describe."""

from tussle.scenario.baseline import BASELINE
from tussle.scenario.bottleneck import Bottleneck
from tussle.scenario.model import PlannedRun, Point, Scenario
from tussle.scenario.named_files import RECORDINGS
from tussle.scenario.ready import ready_scenarios
from tussle.scenario.resolve import seed_of
from tussle.scenario.text import value_of_text

__all__ = [
    "BASELINE",
    "RECORDINGS",
    "Bottleneck",
    "PlannedRun",
    "Point",
    "Scenario",
    "ready_scenarios",
    "seed_of",
    "value_of_text",
]
