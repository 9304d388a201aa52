"""Recorded RTTs as a delay: a CSV of a time in seconds and the RTT from then on in milliseconds."""

from functools import lru_cache
from pathlib import Path

from tussle.scenario.recordings import RecordingError, lines_of, modified_ns, steps

_NS_PER_US = 1_000
_NS_PER_MS = 10**6
_MOST_RTT_MS = 100_000
_MOST_ROWS = 1_000_000

RunSteps = list[dict[str, int]]


def read_rtt_series(file: str) -> RunSteps:
    """Return the steps of the element `rtt_series`: the amount by which each RTT exceeds the file's smallest.

    Raises RecordingError.
    """
    return _read(Path(file), modified_ns(file, "CSV, with rows of seconds and an RTT in ms"))


@lru_cache(maxsize=64)
def _read(path: Path, _modified_ns: int) -> RunSteps:
    recorded = steps(lines_of(path), path.name, "an RTT in ms")
    if len(recorded) > _MOST_ROWS:
        raise RecordingError(f"{path.name} has {len(recorded)} rows; give at most {_MOST_ROWS}")
    largest, smallest = max(step.value for step in recorded), min(step.value for step in recorded)
    if largest - smallest > _MOST_RTT_MS:
        raise RecordingError(
            f"{path.name}: the RTTs are {smallest} to {largest} ms; they may differ by {_MOST_RTT_MS} ms"
        )
    found: RunSteps = []
    for step in recorded:
        delay_ns = int((step.value - smallest) * _NS_PER_MS)
        # Rows less than a microsecond apart have no time of their own.
        if step.end_us > step.begin_us:
            found.append({"until_ns": step.end_us * _NS_PER_US, "delay_ns": delay_ns})
    if not found:
        raise RecordingError(f"{path.name} lasts less than a microsecond; its times are in seconds")
    return found
