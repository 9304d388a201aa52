"""The packets of a run of a dataset: no dataset holds them, so the run is simulated again.

A table of packets would be a thousand times the others, and nobody looks at more than a few runs. The
simulator repeats a run to the byte; that it did is checked here.
"""

from typing import TYPE_CHECKING

import polars as pl

from tussle.dataset import Dataset
from tussle.errors import TussleError, unknown

if TYPE_CHECKING:
    from tussle.exports import RunPackets

_SIDES = ("sender", "receiver")


def run_packets(dataset: Dataset, run: int, side: str) -> "RunPackets":
    """Simulate a run of a dataset again, and return what the hosts of one side saw.

    Raises TussleError when there is no such run or side, the run was not simulated, has too many packets, or
    does not come out as in the dataset.
    """
    from tussle.engines.sim import ENGINE
    from tussle.exports import RunPackets

    if side not in _SIDES:
        raise TussleError(f"--at: {unknown('side', side, _SIDES)}")
    engine = dataset.provenance["engine"]["name"]
    if engine != ENGINE.name:
        raise TussleError(
            f"{dataset.folder} comes from the engine {engine}, and only the simulator notes packets; run its "
            f"scenario with --engine {ENGINE.name}"
        )
    planned = dataset.scenario.runs()
    if run >= len(planned):
        raise TussleError(f"{dataset.folder} has no run {run}; its runs are 0 to {len(planned) - 1} (--run)")
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
        table=tables["packets"],
    )


def _check_same(dataset: Dataset, run: int, again: pl.DataFrame) -> None:
    flows = [dataset.flows] if dataset.solo is None else [dataset.flows, dataset.solo.flows]
    before = pl.concat(flows).filter(pl.col("run") == run).select(again.columns).collect()
    if not before.equals(again.cast(dict(before.schema.items()))):
        raise TussleError(
            f"run {run} of {dataset.folder} comes out otherwise with this version of Tussle; run the "
            "scenario again"
        )
