"""Results of a scenario, for tests to compare."""

from typing import Any

from tussle.engines import engine
from tussle.scenario import Scenario


def simulated(made: Scenario) -> dict[str, list[dict[str, Any]]]:
    """Return the rows of each table of the first run."""
    tables = engine("sim").execute(made.runs()[0].run)
    return {name: table.to_dicts() for name, table in tables.items()}
