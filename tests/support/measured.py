"""A small simulated dataset from which every metric can be computed."""

import atexit
import functools
import shutil
import tempfile
from pathlib import Path

from tussle.dataset import Dataset
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

SCENARIO = {
    "question": "Who yields?",
    "duration": "20 s",
    "repetitions": 2,
    "start_jitter": "20 ms",
    "baseline": True,
    "record": {"events": True},
    "path": {"rate": "10 Mbit/s", "rtt": "20 ms", "queue": {"limit": "1 bdp"}},
    "flows": [
        {"algorithm": ["reno", "cubic"]},
        {
            "algorithm": ["reno", "cubic"],
            "start": "2 s",
            "bytes": "8 MB",
            "application": {"kind": "chunks", "size": "2 MB", "every": "2500 ms"},
        },
    ],
}


@functools.cache
def measured() -> Dataset:
    """Return the dataset; its folder is outside `tmp_path` and is kept until all tests have run."""
    folder = Path(tempfile.mkdtemp(prefix="tussle-tests-"))
    atexit.register(shutil.rmtree, folder)
    return sweep(Scenario.from_dict(SCENARIO), folder / "measured", SweepSettings(workers=1))
