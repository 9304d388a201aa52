"""What packets in flight and idle flows take of the memory, as the test that bounds it counts."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from engines import ROOT
from measure import FailedError

TEST = ["cargo", "test", "--quiet", "--package", "tussle-core", "--test", "memory", "--", "--nocapture"]


def rows(_rounds: int) -> list[dict[str, Any]]:
    """Run the test; give what it says."""
    said = subprocess.run([*TEST, "--test-threads=1"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    found = re.findall(r"memory: (.+): (\d+) bytes$", said.stdout + said.stderr, re.MULTILINE)
    if not found:
        raise FailedError(f"{' '.join(TEST)} says nothing of memory")
    return [{"what": what, "bytes": int(number)} for what, number in found]
