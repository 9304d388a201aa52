"""A hand-written scenario that tests vary."""

import tomllib
from typing import Any

from tussle.scenario import Scenario
from tussle.scenario.kinds import Kinds

WRITTEN = """
question = "Does Reno fill the link?"
duration = "60 s"

[path]
rate = "100 Mbit/s"
rtt = "40 ms"

[[flows]]
algorithm = "reno"
"""


def scenario(**changes: Any) -> Scenario:
    """One Reno flow on 100 Mbit/s and 40 ms for 60 s, with some keys changed (`__` stands for the dot)."""
    base = Scenario.from_dict(tomllib.loads(WRITTEN))
    return base.with_settings({key.replace("__", "."): value for key, value in changes.items()})


def takers(kinds: Kinds, setting: str) -> str:
    """Return the kinds that take a setting, as messages list them."""
    *names, last = (kind for kind in kinds.by_name if setting in kinds.settings(kind))
    return f"{', '.join(names)} and {last}" if names else last
