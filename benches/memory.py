"""Memory of packets in flight and of idle flows, as `tests/memory.rs` of tussle-core counts it."""

from __future__ import annotations

import re
import subprocess
from typing import Any

from engines import ROOT
from measure import FailedError

TARGET, MODULE = "all", "memory"
TEST = ["cargo", "test", "--quiet", "--package", "tussle-core", "--test", TARGET, MODULE, "--", "--nocapture"]


def rows(_rounds: int) -> list[dict[str, Any]]:
    """Run the test; return the numbers of bytes that it prints."""
    done = subprocess.run([*TEST, "--test-threads=1"], cwd=ROOT, capture_output=True, text=True, check=False)  # noqa: S603
    found = re.findall(r"memory: (.+): (\d+) bytes$", done.stdout + done.stderr, re.MULTILINE)
    if not found:
        raise FailedError(f"{' '.join(TEST)} says nothing of memory")
    return [{"what": name, "bytes": int(number)} for name, number in found]
