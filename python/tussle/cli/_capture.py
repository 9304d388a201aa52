"""The packets of a run of a dataset: datasets do not contain packets, so that the run is simulated again.

A table of packets would be a thousand times as large as the others, and is needed for few runs. The simulator
repeats a run to the byte; this module compares the results with those of the dataset.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import polars as pl

from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown
from tussle.own_algorithms import files_sha256, is_own

if TYPE_CHECKING:
    from tussle.exports import RunPackets

_SIDES = ("sender", "receiver")


@dataclass(frozen=True)
class Capture:
    """Settings of a capture."""

    side: str
    """The hosts that capture: `sender` or `receiver`."""
    executes_files: bool = False
    """Whether Python files of the run's algorithms may be executed: a dataset may come from a stranger."""


def run_packets(dataset: Dataset, run: int, capture: Capture) -> "RunPackets":
    """Simulate a run of a dataset again, and return the packets at the hosts of one side.

    Raises TussleError when there is no such run or side, the run was not simulated, has too many packets,
    has algorithms in Python files that may not be executed, or does not come out as in the dataset.
    """
    side = capture.side
    from tussle.engines.sim import ENGINE
    from tussle.exports import RunPackets, header_bytes

    if side not in _SIDES:
        raise TussleError(f"--at: {unknown('side', side, _SIDES)}")
    engine = dataset.provenance["engine"]["name"]
    if engine != ENGINE.name:
        raise TussleError(
            f"{dataset.folder} comes from the engine {engine}, and only the simulator captures packets; run "
            f"its scenario with --engine {ENGINE.name}"
        )
    planned = dataset.scenario.runs()
    if run >= len(planned):
        raise TussleError(f"{dataset.folder} has no run {run}; its runs are 0 to {len(planned) - 1} (--run)")
    _refuse_files(dataset, planned[run].run, capture)
    try:
        tables = ENGINE.capture(planned[run].run)
    except TussleError as error:
        raise TussleError(f"run {run}: {error}; export another run, or one of a shorter scenario") from error
    _check_same(dataset, run, tables["flows"])
    return RunPackets(
        title=f"{dataset.scenario.question or 'a scenario'} Run {run}",
        tool=f"Tussle {dataset.provenance['tussle']}",
        side=side,
        segments_bytes=[flow["mss_bytes"] for flow in planned[run].run["flows"]],
        headers_bytes=[header_bytes(planned[run].run, flow) for flow in planned[run].run["flows"]],
        table=tables["packets"],
    )


def _refuse_files(dataset: Dataset, run: Mapping[str, Any], capture: Capture) -> None:
    """Raise TussleError unless the Python files of the run's algorithms may be executed, and are the same."""
    own = [flow["algorithm"] for flow in run["flows"] if is_own(flow["algorithm"])]
    if own and not capture.executes_files:
        raise TussleError(
            f"the run has the algorithm {own[0]}, a Python file that would be executed; read it, and add "
            "--execute-algorithms if you trust it"
        )
    recorded = set(dataset.provenance.get("own_algorithms_sha256", {}).values())
    for file, digest in files_sha256(own).items():
        if digest not in recorded:
            raise TussleError(
                f"{file} is not the file that the dataset was made with; run the scenario again"
            )


def _check_same(dataset: Dataset, run: int, again: pl.DataFrame) -> None:
    flows = [dataset.flows] if dataset.baseline is None else [dataset.flows, dataset.baseline.flows]
    before = pl.concat(flows).filter(pl.col("run") == run).select(again.columns).collect()
    if not before.equals(again.cast(dict(before.schema.items()))):
        raise TussleError(
            f"run {run} of {dataset.folder} has other results with this version of Tussle; run the "
            "scenario again"
        )
