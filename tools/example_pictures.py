"""Draws the pictures of the reference from small simulations: each figure, and each metric as a matrix."""

import tempfile
from collections.abc import Iterator
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import vl_convert

from small_png import with_palette
from tussle.dataset import Dataset
from tussle.figures import REGISTRY as FIGURES
from tussle.figures import Beside, View, draw
from tussle.metrics import REGISTRY as METRICS
from tussle.scenario import Scenario
from tussle.sweep import SweepSettings, sweep

_PIXELS_PER_POINT = 1.1
_VIEW = View(width_px=480, most_rows=300)
_FEW = ["reno", "cubic", "vegas", "bbr"]
_PATH = {"rate": "20 Mbit/s", "rtt": "40 ms"}

_SCENARIOS: dict[str, dict[str, Any]] = {
    "pairs": {
        "duration": "30 s",
        "repetitions": 2,
        "start_jitter": "100 ms",
        "baseline": True,
        "record": {"events": True},
        "path": _PATH,
        "flows": [{"algorithm": _FEW}, {"algorithm": _FEW, "start": "3 s"}],
    },
    "buffers": {
        "duration": "60 s",
        "repetitions": 1,
        "path": _PATH | {"queue": {"limit": ["0.1 bdp", "0.25 bdp", "0.5 bdp", "1 bdp", "2 bdp"]}},
        "flows": [{"algorithm": ["reno", "cubic", "bbr"]}, {"algorithm": "reno", "start": "1 s"}],
    },
    "rtts": {
        "duration": "60 s",
        "repetitions": 1,
        "path": {"rate": "20 Mbit/s", "rtt": ["10 ms", "40 ms", "160 ms"], "queue": {"limit": "50 packets"}},
        "flows": [{"algorithm": ["reno", "cubic", "bbr"]}, {"algorithm": "reno", "start": "1 s"}],
    },
    "losses": {
        "duration": "60 s",
        "repetitions": 3,
        "path": _PATH | {"loss": ["0 %", "0.01 %", "0.1 %", "1 %"]},
        "flows": [{"algorithm": ["reno", "cubic", "bbr"]}, {"algorithm": "reno", "start": "1 s"}],
    },
    "far": {
        "duration": "200 s",
        "repetitions": 1,
        "start_jitter": "1 s",
        "path": {"rate": "200 Mbit/s", "rtt": "200 ms", "queue": {"limit": "0.1 bdp"}},
        "flows": [{"algorithm": ["reno", "cubic", "highspeed", "bbr"], "count": 4}],
    },
    "transfers": {
        "duration": "30 s",
        "repetitions": 1,
        "path": _PATH,
        "flows": [
            {"algorithm": ["reno", "cubic", "bbr"], "bytes": ["50 kB", "200 kB", "1 MB", "5 MB", "20 MB"]}
        ],
    },
    "responses": {
        "duration": "30 s",
        "repetitions": 1,
        "record": {"events": True},
        "path": _PATH,
        "flows": [
            {"algorithm": _FEW, "application": {"kind": "requests", "size": "100 kB", "think": "1 s"}},
            {"algorithm": _FEW, "start": "3 s"},
        ],
    },
}


_SHOWN_BY = {
    "coexistence": "matrix",
    "completion": "completion",
    "goodput_by_decade": "decades",
    "goodput_over_time": "throughput",
    "groups": "groups",
    "jain_over_time": "fairness",
}
"""The figure that shows a metric, for metrics not shown as a matrix."""


@dataclass(frozen=True)
class _Example:
    """The figure, scenario and view of a picture."""

    scenario: str
    figure: str
    view: View


def _plan() -> dict[str, _Example]:
    """Return every picture by its file name."""
    special = {"over_buffer": "buffers", "share_over_buffer": "buffers", "over_rtt": "rtts"}
    special |= {"over_loss": "losses", "completion": "transfers", "decades": "far"}
    # Point 4 is CUBIC with Reno, 1 Reno with CUBIC.
    one_point = {name: replace(_VIEW, point=1) for name, figure in FIGURES.items() if figure.of != "dataset"}
    plan = {
        f"figure-{name}.png": _Example(special.get(name, "pairs"), name, one_point.get(name, _VIEW))
        for name in FIGURES
    }
    return plan | {
        f"metric-{name}.png": _Example(
            "responses" if name == "response_time" else "pairs", "matrix", replace(_VIEW, metric=name)
        )
        for name in METRICS
        if name not in _SHOWN_BY
    }


def picture_of_metric(name: str) -> str:
    """Return the file name of the picture that shows a metric."""
    return f"figure-{_SHOWN_BY[name]}.png" if name in _SHOWN_BY else f"metric-{name}.png"


def names() -> set[str]:
    """Return the file names of all pictures."""
    return set(_plan())


def draw_into(folder: Path) -> None:
    """Simulate, draw the pictures into the folder, and remove all others."""
    with tempfile.TemporaryDirectory() as scratch:
        pictures = dict(_drawn(Path(scratch)))
    folder.mkdir(parents=True, exist_ok=True)
    for file in folder.iterdir():
        file.unlink()
    for name, picture in pictures.items():
        (folder / name).write_bytes(picture)


def _drawn(scratch: Path) -> Iterator[tuple[str, bytes]]:
    datasets = {name: _simulated(tables, scratch / name) for name, tables in _SCENARIOS.items()}
    other = _simulated(_SCENARIOS["pairs"] | {"seed": 2}, scratch / "other")
    for name, example in _plan().items():
        is_overlay = FIGURES[example.figure].of == "several datasets"
        beside = Beside(other, "seed 2", "seed 1") if is_overlay else None
        chart = draw(example.figure, datasets[example.scenario], replace(example.view, beside=beside))
        yield name, with_palette(vl_convert.vegalite_to_png(chart.to_dict(), scale=_PIXELS_PER_POINT))


def _simulated(tables: dict[str, Any], folder: Path) -> Dataset:
    return sweep(Scenario.from_dict({"seed": 1, **tables}), folder, SweepSettings())
